module tickdisk/dragonfly

go 1.24

require (
	github.com/df-mc/dragonfly v0.10.10
	github.com/df-mc/goleveldb v1.1.9
	github.com/go-gl/mathgl v1.2.0
	github.com/google/uuid v1.6.0
	github.com/sandertv/gophertunnel v1.52.0
)

require (
	github.com/brentp/intintmap v0.0.0-20190211203843-30dc0ade9af9 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/df-mc/jsonc v1.0.5 // indirect
	github.com/df-mc/worldupgrader v1.0.20 // indirect
	github.com/go-jose/go-jose/v4 v4.1.0 // indirect
	github.com/golang/snappy v0.0.4 // indirect
	github.com/klauspost/compress v1.18.1 // indirect
	github.com/sandertv/go-raknet v1.14.3-0.20250305181847-6af3e95113d6 // indirect
	github.com/segmentio/fasthash v1.0.3 // indirect
	golang.org/x/exp v0.0.0-20250103183323-7d7fa50e5329 // indirect
	golang.org/x/mod v0.22.0 // indirect
	golang.org/x/net v0.38.0 // indirect
	golang.org/x/oauth2 v0.27.0 // indirect
	golang.org/x/text v0.23.0 // indirect
)
