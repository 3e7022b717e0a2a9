module tickdisk/players/bedrock

go 1.24

require (
	github.com/go-gl/mathgl v1.1.0
	github.com/google/uuid v1.6.0
	github.com/sandertv/go-raknet v1.14.3-0.20250305181847-6af3e95113d6
	github.com/sandertv/gophertunnel v1.52.0
	tickdisk/players v0.0.0
)

require (
	github.com/df-mc/jsonc v1.0.5 // indirect
	github.com/go-jose/go-jose/v4 v4.1.0 // indirect
	github.com/klauspost/compress v1.18.1 // indirect
	golang.org/x/image v0.21.0 // indirect
	golang.org/x/net v0.35.0 // indirect
	golang.org/x/oauth2 v0.23.0 // indirect
	golang.org/x/text v0.22.0 // indirect
)

replace tickdisk/players => ../
