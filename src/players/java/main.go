// Command tickdisk-players-java drives players of a Java edition server (Minestom) over its network protocol, from a player trace.
package main

import (
	"os"

	"tickdisk/players/internal/command"
	"tickdisk/players/java/internal/java"
)

func main() { os.Exit(command.Run("tickdisk-players-java", os.Args[1:], &java.Driver{})) }
