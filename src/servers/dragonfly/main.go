// Command tickdisk-dragonfly generates worlds for Dragonfly, a server of Minecraft's Bedrock edition, and serves them.
//
// To serve it needs a hook around the tick, which the command in the folder `patch` adds to a copy of Dragonfly:
//
//	go run ./patch FOLDER
//	go build -trimpath -tags tickhook -modfile FOLDER/go.mod -o BINARY .
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"tickdisk/dragonfly/internal/serve"
)

const (
	exitFailure    = 1
	exitNotStarted = 2 // The command line, the world or the port is wrong, and nothing was served.
)

var errUsage = errors.New("usage: tickdisk-dragonfly generate|serve FLAGS, where -h shows the flags")

func main() { os.Exit(run(os.Args[1:])) }

func run(arguments []string) int {
	err := errUsage
	if len(arguments) > 0 {
		switch arguments[0] {
		case "generate":
			err = runGenerate(arguments[1:])
		case "serve":
			err = runServe(arguments[1:])
		}
	}
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintln(os.Stderr, strings.ReplaceAll(err.Error(), "\n", "; "))
	if errors.As(err, new(serve.NotStarted)) || errors.Is(err, errUsage) {
		return exitNotStarted
	}
	return exitFailure
}
