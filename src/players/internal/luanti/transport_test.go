package luanti

import (
	"bytes"
	"container/heap"
	"encoding/binary"
	"fmt"
	"math/rand"
	"slices"
	"testing"
)

// network carries datagrams in simulated time. It loses, doubles and delays them.
type network struct {
	rng    *rand.Rand
	nowNS  int64
	loss   float64
	double float64
	jitter int64
	queue  letters
	order  int
}

type letter struct {
	atNS  int64
	order int
	data  []byte
	to    *transport
}

type letters []letter

func (l letters) Len() int { return len(l) }
func (l letters) Less(i, j int) bool {
	return l[i].atNS < l[j].atNS || l[i].atNS == l[j].atNS && l[i].order < l[j].order
}
func (l letters) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *letters) Push(x any)   { *l = append(*l, x.(letter)) }
func (l *letters) Pop() any {
	last := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return last
}

func (n *network) post(data []byte, to *transport) {
	copies := 1
	if n.rng.Float64() < n.loss {
		copies = 0
	} else if n.rng.Float64() < n.double {
		copies = 2
	}
	for ; copies > 0; copies-- {
		sent := slices.Clone(data)
		binary.BigEndian.PutUint16(sent[4:], serverPeerID) // Each end takes the other for a server.
		n.order++
		heap.Push(&n.queue, letter{n.nowNS + 1e6 + n.rng.Int63n(n.jitter+1), n.order, sent, to})
	}
}

func TestReliableStreamsSurviveABadNetwork(t *testing.T) {
	cases := []struct {
		loss, double float64
		jitterNS     int64
	}{{0, 0, 0}, {0.2, 0, 0}, {0, 0.5, 0}, {0, 0, 50e6}, {0.15, 0.15, 30e6}, {0.4, 0.1, 100e6}}
	for i, c := range cases {
		t.Run(fmt.Sprintf("loss %g double %g jitter %d ms", c.loss, c.double, c.jitterNS/1e6), func(t *testing.T) {
			n := &network{rng: rand.New(rand.NewSource(int64(i))), loss: c.loss, double: c.double, jitter: c.jitterNS}
			var sent, got [2][channelCount][][]byte
			var ends [2]*transport
			for side := range ends {
				ends[side] = newTransport(0, func(data []byte) { n.post(data, ends[1-side]) }, func(message []byte) {
					number := message[0]
					got[side][number] = append(got[side][number], slices.Clone(message))
				})
			}
			for range 300 { // With splits, these are more than a thousand packets, so the sequence numbers wrap at 65,535.
				for side := range ends {
					message := make([]byte, 1+n.rng.Intn(2500))
					n.rng.Read(message)
					number := uint8(n.rng.Intn(channelCount))
					message[0] = number
					sent[side][number] = append(sent[side][number], message)
					ends[side].Send(number, true, message, 0)
				}
			}
			whole := func() bool {
				for side := range ends {
					for number := range channelCount {
						if len(got[1-side][number]) < len(sent[side][number]) || len(ends[side].channels[number].inFlight) > 0 {
							return false
						}
					}
				}
				return true
			}
			nextAdvance := int64(0)
			for !whole() {
				if len(n.queue) > 0 && n.queue[0].atNS <= nextAdvance {
					l := heap.Pop(&n.queue).(letter)
					n.nowNS = l.atNS
					l.to.Receive(l.data, n.nowNS)
					continue
				}
				n.nowNS = nextAdvance
				nextAdvance += 100e6
				ends[0].Advance(n.nowNS)
				ends[1].Advance(n.nowNS)
				if n.nowNS > 3600e9 {
					t.Fatalf("the streams did not arrive within an hour of simulated time (%v, %v)", ends[0].closed, ends[1].closed)
				}
			}
			for side := range ends {
				for number := range channelCount {
					if !slices.EqualFunc(got[1-side][number], sent[side][number], bytes.Equal) {
						t.Errorf("side %d, channel %d: what arrived is not what was sent", side, number)
					}
				}
				if lossless := c.loss == 0 && c.jitterNS == 0; lossless && ends[side].counts.Retransmissions > 0 {
					t.Errorf("%d retransmissions on a network that loses nothing", ends[side].counts.Retransmissions)
				}
				if c.loss > 0 && ends[side].counts.Retransmissions == 0 {
					t.Error("a network that loses packets, and no retransmission")
				}
			}
		})
	}
}

// The bytes are written out by hand after the protocol's description in Luanti's sources.
func TestBytesOnTheWire(t *testing.T) {
	var out [][]byte
	var in []string
	tr := newTransport(0, func(d []byte) { out = append(out, slices.Clone(d)) }, func(m []byte) { in = append(in, string(m)) })
	expect := func(what string, want ...[]byte) {
		t.Helper()
		if !slices.EqualFunc(out, want, bytes.Equal) {
			t.Errorf("%s: sent % x, wanted % x", what, out, want)
		}
		out = nil
	}
	head := []byte{0x4f, 0x45, 0x74, 0x03}
	join := func(parts ...[]byte) []byte { return slices.Concat(append([][]byte{head}, parts...)...) }

	tr.Send(0, true, []byte{0, 0}, 0)
	expect("first packet", join([]byte{0, 0, 0, 3, 0xff, 0xdc, 1, 0, 0}))
	tr.Receive(join([]byte{0, 1, 0, 3, 0xff, 0xdc, 0, 1, 0, 7}), 1e6) // Reliable packet 65500 says that the identity is peer 7.
	expect("acknowledgement", join([]byte{0, 0, 0, 0, 0, 0xff, 0xdc}))
	tr.Receive(join([]byte{0, 1, 0, 3, 0xff, 0xdc, 0, 1, 0, 9}), 2e6) // A duplicate is acknowledged but not obeyed.
	expect("acknowledgement of a duplicate", join([]byte{0, 7, 0, 0, 0, 0xff, 0xdc}))
	if tr.peerID != 7 || tr.counts.Duplicates != 1 {
		t.Errorf("peer %d, %d duplicates", tr.peerID, tr.counts.Duplicates)
	}
	tr.Advance(499e6)
	expect("before the resend is due")
	tr.Advance(500e6)
	expect("resend, now with the identity", join([]byte{0, 7, 0, 3, 0xff, 0xdc, 1, 0, 0}))
	tr.Advance(1400e6)
	expect("the wait doubles")
	tr.Receive(join([]byte{0, 1, 0, 0, 0, 0xff, 0xdc}), 1450e6)
	tr.Advance(1500e6)
	expect("acknowledged packets rest")
	tr.Receive(join([]byte{0, 1, 1, 2, 0, 5, 0, 2, 0, 1, 'l', 'o'}), 1500e6)
	tr.Receive(join([]byte{0, 1, 1, 2, 0, 5, 0, 2, 0, 0, 'h', 'e', 'l'}), 1500e6)
	tr.Receive(join([]byte{0, 2, 0, 1, 'x'}), 1500e6) // This datagram is not from the server.
	if !slices.Equal(in, []string{"hello"}) {
		t.Errorf("delivered %q", in)
	}
	tr.Advance(1500e6 + peerTimeoutNS + 1)
	if tr.closed != errSilent {
		t.Errorf("after 30 s of silence the connection says %v", tr.closed)
	}
}

func TestReceiveNeverPanics(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	tr := newTransport(0, func([]byte) {}, func([]byte) {})
	for range 20000 {
		body := make([]byte, rng.Intn(12))
		rng.Read(body)
		if len(body) > 0 {
			body[0] %= 4
		}
		packet := datagram(uint8(rng.Intn(4)), body...)
		binary.BigEndian.PutUint16(packet[4:], serverPeerID)
		tr.Receive(packet, 0)
	}
}
