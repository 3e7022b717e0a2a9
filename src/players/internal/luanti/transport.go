package luanti

import (
	"encoding/binary"
	"errors"

	"tickdisk/players/internal/report"
)

// The transport of Luanti has three channels over UDP. Each channel has reliable packets (numbered, acknowledged, delivered in
// order) and split packets (parts of a message that does not fit). A header has a u32 protocol, a u16 sender and a u8 channel. A
// u8 kind and a body follow.
const (
	protocolID        = 0x4f457403
	serverPeerID      = 1
	headerSize        = 7
	firstSequence     = 65500
	channelCount      = 3
	largestPart       = 480    // bytes of a message, so that the datagram stays below the server's 512 bytes
	receiveWindow     = 0x8000 // half of the sequence numbers, because old and new ones could otherwise not be distinguished
	sendWindow        = 64     // from the oldest reliable packet in flight to the newest, per channel; a player sends few packets
	firstResendNS     = 500e6
	shortestResendNS  = 200e6
	longestResendNS   = 3e9
	keepAliveNS       = 2e9
	peerTimeoutNS     = 30e9 // the same as the server's
	splitTimeoutNS    = 30e9
	kindControl       = 0
	kindOriginal      = 1
	kindSplit         = 2
	kindReliable      = 3
	controlAck        = 0
	controlSetPeerID  = 1
	controlPing       = 2
	controlDisconnect = 3
)

var (
	errDisconnected = errors.New("the server closed the connection")
	errSilent       = errors.New("the server has sent nothing for 30 s")
)

type flight struct {
	datagram []byte
	sentNS   int64
	resendNS int64 // wait before the next resend, doubled at each resend
	resent   bool
}

type assembly struct {
	parts   [][]byte
	missing int
	firstNS int64
}

type channel struct {
	sendSequence  uint16
	splitSequence uint16
	inFlight      map[uint16]*flight
	queued        [][]byte
	awaited       uint16
	early         map[uint16][]byte
	assemblies    map[uint16]*assembly
}

// transport is one peer's end of a connection, as a state machine without a clock and a socket. It takes datagrams, and gives out
// datagrams and whole messages.
type transport struct {
	peerID         uint16
	channels       [channelCount]channel
	send           func(datagram []byte)
	deliver        func(message []byte)
	counts         report.Network
	closed         error
	lastSentNS     int64
	lastReceivedNS int64
	smoothedRTT    float64
	deviationRTT   float64
}

func newTransport(nowNS int64, send, deliver func([]byte)) *transport {
	t := &transport{send: send, deliver: deliver, lastReceivedNS: nowNS}
	for i := range t.channels {
		t.channels[i] = channel{
			sendSequence: firstSequence, splitSequence: firstSequence, awaited: firstSequence,
			inFlight: map[uint16]*flight{}, early: map[uint16][]byte{}, assemblies: map[uint16]*assembly{},
		}
	}
	return t
}

func (t *transport) emit(datagram []byte, nowNS int64) {
	binary.BigEndian.PutUint16(datagram[4:], t.peerID) // A resend may be the first datagram that has the identity.
	t.lastSentNS = nowNS
	t.counts.PacketsSent++
	t.counts.BytesSent += int64(len(datagram))
	t.send(datagram)
}

func datagram(channel uint8, body ...byte) []byte {
	header := make([]byte, headerSize, headerSize+len(body)+largestPart+16)
	binary.BigEndian.PutUint32(header, protocolID)
	header[6] = channel
	return append(header, body...)
}

// Send hands over a message. A reliable message is repeated until it is acknowledged.
func (t *transport) Send(number uint8, reliable bool, message []byte, nowNS int64) {
	c := &t.channels[number]
	for _, body := range c.bodies(message) {
		if reliable {
			c.queued = append(c.queued, body)
		} else {
			t.emit(datagram(number, body...), nowNS)
		}
	}
	t.flush(number, nowNS)
}

func (c *channel) bodies(message []byte) [][]byte {
	if len(message) <= largestPart {
		return [][]byte{append([]byte{kindOriginal}, message...)}
	}
	count := (len(message) + largestPart - 1) / largestPart
	bodies := make([][]byte, count)
	for i := range bodies {
		part := (&writer{}).u8(kindSplit).u16(c.splitSequence).u16(uint16(count)).u16(uint16(i))
		bodies[i] = part.bytes(message[i*largestPart : min(len(message), (i+1)*largestPart)]).data
	}
	c.splitSequence++
	return bodies
}

func (t *transport) flush(number uint8, nowNS int64) {
	c := &t.channels[number]
	for len(c.queued) > 0 {
		// The window limits the range of numbers in flight, and not the number of packets. Behind a lost packet, the others could
		// otherwise run ahead until the numbers wrap around.
		if _, full := c.inFlight[c.sendSequence-sendWindow]; full {
			return
		}
		packet := append(binary.BigEndian.AppendUint16(datagram(number, kindReliable), c.sendSequence), c.queued[0]...)
		c.queued = c.queued[1:]
		c.inFlight[c.sendSequence] = &flight{datagram: packet, sentNS: nowNS, resendNS: t.firstWait()}
		c.sendSequence++
		t.emit(packet, nowNS)
	}
}

func (t *transport) firstWait() int64 {
	if t.smoothedRTT == 0 {
		return firstResendNS
	}
	return int64(min(max(t.smoothedRTT+4*t.deviationRTT, shortestResendNS), longestResendNS))
}

// Advance resends packets that are overdue, keeps the connection alive, forgets unfinished splits and notices a silent server.
func (t *transport) Advance(nowNS int64) {
	if t.closed != nil {
		return
	}
	if nowNS-t.lastReceivedNS > peerTimeoutNS {
		t.closed = errSilent
		return
	}
	for number := range t.channels {
		c := &t.channels[number]
		for sequence := c.sendSequence - sendWindow; sequence != c.sendSequence; sequence++ { // oldest first
			if f, waiting := c.inFlight[sequence]; waiting && nowNS-f.sentNS >= f.resendNS {
				f.sentNS, f.resendNS, f.resent = nowNS, min(2*f.resendNS, longestResendNS), true
				t.counts.Retransmissions++
				t.emit(f.datagram, nowNS)
			}
		}
		for sequence, a := range c.assemblies {
			if nowNS-a.firstNS > splitTimeoutNS {
				delete(c.assemblies, sequence)
			}
		}
	}
	if nowNS-t.lastSentNS > keepAliveNS {
		t.emit(datagram(0, kindControl, controlPing), nowNS)
	}
}

// Disconnect tells the server that the player leaves. The server does not answer.
func (t *transport) Disconnect(nowNS int64) {
	t.emit(datagram(0, kindControl, controlDisconnect), nowNS)
}

// Receive takes a datagram from the socket. It passes whole messages to deliver, and reliable messages in their order.
func (t *transport) Receive(packet []byte, nowNS int64) {
	if len(packet) <= headerSize || binary.BigEndian.Uint32(packet) != protocolID ||
		binary.BigEndian.Uint16(packet[4:]) != serverPeerID || packet[6] >= channelCount {
		return
	}
	t.counts.PacketsReceived++
	t.counts.BytesReceived += int64(len(packet))
	t.lastReceivedNS = nowNS
	t.body(packet[6], packet[headerSize:], nowNS, true)
}

func (t *transport) body(number uint8, body []byte, nowNS int64, mayBeReliable bool) {
	switch r := (&reader{data: body[1:]}); body[0] {
	case kindControl:
		t.control(number, r, nowNS)
	case kindOriginal:
		t.deliver(r.data)
	case kindSplit:
		t.split(&t.channels[number], r, nowNS)
	case kindReliable:
		if mayBeReliable {
			t.reliable(number, r, nowNS)
		}
	}
}

func (t *transport) control(number uint8, r *reader, nowNS int64) {
	switch kind := r.u8(); kind {
	case controlAck:
		c := &t.channels[number]
		sequence := r.u16()
		f, waiting := c.inFlight[sequence]
		if r.short || !waiting {
			return
		}
		if !f.resent { // For a repeated packet, it is unknown which sending was acknowledged.
			t.measured(float64(nowNS - f.sentNS))
		}
		delete(c.inFlight, sequence)
		t.flush(number, nowNS)
	case controlSetPeerID:
		if identity := r.u16(); !r.short {
			t.peerID = identity
		}
	case controlDisconnect:
		if !r.short && t.closed == nil {
			t.closed = errDisconnected
		}
	}
}

func (t *transport) measured(rtt float64) {
	if t.smoothedRTT == 0 {
		t.smoothedRTT, t.deviationRTT = rtt, rtt/2
		return
	}
	t.deviationRTT = 0.75*t.deviationRTT + 0.25*max(t.smoothedRTT-rtt, rtt-t.smoothedRTT)
	t.smoothedRTT = 0.875*t.smoothedRTT + 0.125*rtt
}

func (t *transport) reliable(number uint8, r *reader, nowNS int64) {
	c := &t.channels[number]
	sequence := r.u16()
	if r.short || len(r.data) == 0 {
		return
	}
	t.emit(binary.BigEndian.AppendUint16(datagram(number, kindControl, controlAck), sequence), nowNS)
	_, held := c.early[sequence]
	if held || sequence-c.awaited >= receiveWindow {
		t.counts.Duplicates++
		return
	}
	c.early[sequence] = r.data
	for {
		body, there := c.early[c.awaited]
		if !there {
			return
		}
		delete(c.early, c.awaited)
		c.awaited++
		t.body(number, body, nowNS, false)
	}
}

func (t *transport) split(c *channel, r *reader, nowNS int64) {
	sequence, count, index := r.u16(), int(r.u16()), int(r.u16())
	if r.short || index >= count {
		return
	}
	a := c.assemblies[sequence]
	if a == nil || len(a.parts) != count {
		a = &assembly{parts: make([][]byte, count), missing: count, firstNS: nowNS}
		c.assemblies[sequence] = a
	}
	if a.parts[index] != nil {
		return
	}
	a.parts[index] = r.data
	if a.missing--; a.missing > 0 {
		return
	}
	delete(c.assemblies, sequence)
	var whole []byte
	for _, part := range a.parts {
		whole = append(whole, part...)
	}
	t.deliver(whole)
}
