package client

import (
	"sync/atomic"
	"time"

	"github.com/sandertv/gophertunnel/minecraft"
	"github.com/sandertv/gophertunnel/minecraft/protocol/packet"
)

const (
	// A server with gophertunnel and go-raknet drops an answer that comes before it has noted what it waits for, and it notes this
	// after it has sent its own packet. On loopback, an answer may be so fast. A real player takes longer than this anyway.
	answerPause   = 5 * time.Millisecond
	requestRepeat = 100 * time.Millisecond // Gophertunnel would wait for ever for the answer to a request that was dropped.
)

// radiusProtocol asks the server for the range of chunks that the player wants, where gophertunnel would ask for 16 chunks. It asks
// again until the server has answered.
type radiusProtocol struct {
	minecraft.Protocol
	chunks  int32
	asked   atomic.Bool
	granted atomic.Bool
}

// ConvertFromLatest returns what is sent for a packet.
func (r *radiusProtocol) ConvertFromLatest(sent packet.Packet, conn *minecraft.Conn) []packet.Packet {
	if request, ok := sent.(*packet.RequestChunkRadius); ok {
		request.ChunkRadius, request.MaxChunkRadius = r.chunks, uint8(r.chunks)
		if !r.asked.Swap(true) {
			time.Sleep(answerPause)
		}
		time.AfterFunc(requestRepeat, func() { r.repeat(conn) })
	}
	return r.Protocol.ConvertFromLatest(sent, conn)
}

// repeat asks again. It ends when the connection has ended, because nothing can be written then.
func (r *radiusProtocol) repeat(conn *minecraft.Conn) {
	if !r.granted.Load() && conn.WritePacket(&packet.RequestChunkRadius{}) == nil {
		_ = conn.Flush()
	}
}
