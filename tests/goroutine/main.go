// Command dragonfly is a program of Go that ticks on a goroutine, for a test of `tickdisk check`.
package main

import (
	"fmt"
	"net"
	"os"

	"github.com/df-mc/dragonfly/server/world"
)

func main() {
	// It listens, as servers do.
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer socket.Close()
	fmt.Println("runs")
	world.Run(os.Args[1])
}
