// Package client joins a Bedrock server with gophertunnel, without blocking the player, and stamps packets as they arrive.
package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"

	"github.com/google/uuid"
	"github.com/sandertv/go-raknet"
	"github.com/sandertv/gophertunnel/minecraft"
	"github.com/sandertv/gophertunnel/minecraft/protocol"
	"github.com/sandertv/gophertunnel/minecraft/protocol/login"
	"github.com/sandertv/gophertunnel/minecraft/protocol/packet"

	"tickdisk/players/internal/monotonic"
	"tickdisk/players/internal/play"
	"tickdisk/players/internal/report"
)

// RakNet ends a connection with this message. Closing a connection in go-raknet sends it only one or two seconds later.
const raknetDisconnect = 0x15

// wanted makes the packets that are decoded. All others are dropped unread.
var wanted = map[uint32]func() packet.Packet{
	packet.IDChunkRadiusUpdated: func() packet.Packet { return &packet.ChunkRadiusUpdated{} },
	packet.IDCommandOutput:      func() packet.Packet { return &packet.CommandOutput{} },
	packet.IDDisconnect:         func() packet.Packet { return &packet.Disconnect{} },
	packet.IDLevelChunk:         func() packet.Packet { return &packet.LevelChunk{} },
	packet.IDMovePlayer:         func() packet.Packet { return &packet.MovePlayer{} },
	packet.IDPlayerList:         func() packet.Packet { return &packet.PlayerList{} },
	packet.IDSubChunk:           func() packet.Packet { return &packet.SubChunk{} },
	packet.IDUpdateBlock:        func() packet.Packet { return &packet.UpdateBlock{} },
}

// Spawned arrives when the server has let the player into the game. Packets may arrive before it.
type Spawned struct{ Game minecraft.GameData }

// Client is one player's connection. Arrivals are packets (packet.Packet), Spawned, or the error with which the connection ended.
type Client struct {
	address    string
	socket     *socket
	arrivals   chan play.Arrival
	cancel     context.CancelFunc
	conn       atomic.Pointer[minecraft.Conn]
	connection atomic.Pointer[raknet.Conn]
	radius     *radiusProtocol
	left       bool
}

// Identity returns who a player is. The server knows a player again by the UUID, which therefore depends on the name alone.
func Identity(name string) login.IdentityData {
	return login.IdentityData{DisplayName: name, Identity: uuid.NewSHA1(uuid.NameSpaceOID, []byte("tickdisk player "+name)).String()}
}

// Open begins to join the server at an address, from which it asks for chunks within a radius.
func Open(address, name string, radiusChunks int) (*Client, error) {
	socket, err := openSocket(address)
	if err != nil {
		return nil, err
	}
	radius := &radiusProtocol{Protocol: minecraft.DefaultProtocol, chunks: int32(radiusChunks)}
	c := &Client{address: address, socket: socket, arrivals: make(chan play.Arrival, 1024), radius: radius}
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), clientKey{}, c))
	c.cancel = cancel
	dialer := minecraft.Dialer{
		IdentityData: Identity(name),
		Protocol:     radius,
		PacketFunc:   c.packet,
		FlushRate:    -1, // Send flushes at once.
	}
	go c.run(ctx, dialer)
	return c, nil
}

// run joins the server. Afterwards, it takes the packets from gophertunnel, which would otherwise keep them all.
func (c *Client) run(ctx context.Context, dialer minecraft.Dialer) {
	conn, err := dialer.DialContext(ctx, networkName, c.address)
	if err != nil {
		c.arrived(c.dialError(err))
		return
	}
	c.conn.Store(conn)
	c.arrived(Spawned{conn.GameData()})
	for err == nil {
		_, err = conn.ReadBytes()
	}
	c.arrived(errors.New("the server has closed the connection, or has been silent for too long"))
}

func (c *Client) dialError(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("nothing listens at %s", c.address)
	}
	return fmt.Errorf("the player could not join %s: %w", c.address, err)
}

func (c *Client) arrived(content any) {
	select {
	case c.arrivals <- play.Arrival{Content: content, ReceivedNS: monotonic.Now()}:
	case <-c.socket.done:
	}
}

// packet takes a packet before gophertunnel decodes it, in the order in which packets arrive. Gophertunnel's own ReadPacket may
// change that order.
func (c *Client) packet(header packet.Header, payload []byte, _, _ net.Addr) {
	receivedNS := monotonic.Now()
	if header.PacketID == packet.IDChunkRadiusUpdated {
		c.radius.granted.Store(true)
	}
	create, decoded := wanted[header.PacketID]
	if !decoded {
		return
	}
	received := create()
	if err := decode(received, payload); err != nil {
		c.arrived(fmt.Errorf("a packet of the server cannot be read (%T): %w", received, err))
		return
	}
	select {
	case c.arrivals <- play.Arrival{Content: received, ReceivedNS: receivedNS}:
	case <-c.socket.done:
	}
}

// decode reads a packet. Gophertunnel panics if a packet is too short. It reads an empty text at the end, which only a bytes.Buffer
// allows.
func decode(into packet.Packet, payload []byte) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%v", cause)
		}
	}()
	into.Marshal(protocol.NewReader(bytes.NewBuffer(payload), 0, false))
	return nil
}

// Arrivals returns the channel of what came from the server.
func (c *Client) Arrivals() <-chan play.Arrival { return c.arrivals }

// Answered returns whether anything has come from the server.
func (c *Client) Answered() bool { return c.socket.packetsReceived.Load() > 0 }

// Send sends a packet at once, if the player has spawned. If the connection has ended, the packet is lost, and its end arrives.
func (c *Client) Send(sent packet.Packet) {
	if conn := c.conn.Load(); conn != nil {
		_ = conn.WritePacket(sent)
		_ = conn.Flush()
	}
}

// Leave tells the server that the player leaves. RakNet repeats the message until the server has acknowledged it.
func (c *Client) Leave() {
	if connection := c.connection.Load(); connection != nil && !c.left {
		c.left = true
		_, _ = connection.Write([]byte{raknetDisconnect})
	}
}

// Close ends the connection and returns the counts of its traffic. Goroutines of gophertunnel may remain for some seconds.
func (c *Client) Close() report.Network {
	c.Leave()
	counts := c.socket.counts()
	c.cancel()
	close(c.socket.done)
	if conn := c.conn.Load(); conn != nil {
		_ = conn.Close()
	}
	c.socket.Close()
	return counts
}
