// Command tickdisk-players drives players of a Luanti server over its network protocol, from a player trace.
package main

import (
	"os"

	"tickdisk/players/internal/command"
	"tickdisk/players/internal/luanti"
)

func main() { os.Exit(command.Run("tickdisk-players", os.Args[1:], &luanti.Driver{})) }
