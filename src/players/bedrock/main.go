// Command tickdisk-players-bedrock drives players of a Bedrock server (Dragonfly) over its network protocol, from a player trace.
package main

import (
	"os"

	"tickdisk/players/bedrock/internal/bedrock"
	"tickdisk/players/internal/command"
)

func main() { os.Exit(command.Run("tickdisk-players-bedrock", os.Args[1:], &bedrock.Driver{})) }
