package client

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"github.com/sandertv/go-raknet"
	"github.com/sandertv/gophertunnel/minecraft"
)

// Gophertunnel finds a network by its name. Ours dials from the socket of the client that the context holds.
const networkName = "tickdisk"

type clientKey struct{}

type network struct{}

func init() {
	minecraft.RegisterNetwork(networkName, func(*slog.Logger) minecraft.Network { return network{} })
}

// DialContext opens a RakNet connection on the client's own socket.
func (network) DialContext(ctx context.Context, address string) (net.Conn, error) {
	c := ctx.Value(clientKey{}).(*Client)
	connection, err := raknet.Dialer{UpstreamDialer: upstream{c.socket}}.DialContext(ctx, address)
	if err != nil {
		return nil, err
	}
	c.connection.Store(connection)
	return connection, nil
}

// PingContext fails, and gophertunnel then dials at once. A ping would only ask the server for another port.
func (network) PingContext(context.Context, string) ([]byte, error) {
	return nil, errors.New("players do not ping a server before they join it")
}

// Listen fails, because players do not listen.
func (network) Listen(string) (minecraft.NetworkListener, error) {
	return nil, errors.New("players do not listen")
}

type upstream struct{ socket *socket }

func (u upstream) DialContext(context.Context, string, string) (net.Conn, error) {
	return u.socket, nil
}
