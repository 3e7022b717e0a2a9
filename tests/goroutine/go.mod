module github.com/df-mc/dragonfly

go 1.24
