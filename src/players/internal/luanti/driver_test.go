package luanti

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"tickdisk/players/internal/monotonic"
	"tickdisk/players/internal/play"
	"tickdisk/players/internal/report"
	"tickdisk/players/internal/trace"
)

// fakeServer speaks enough of the protocol to let players in. It delays the blocks that a test names.
type fakeServer struct {
	t        *testing.T
	socket   *net.UDPConn
	peers    map[string]*fakePeer
	deny     bool
	withheld func(block blockPosition) time.Duration // time by which a block is sent later than the others
	later    []delayed
}

type fakePeer struct {
	*transport
	name   string
	placed bool
}

type delayed struct {
	atNS int64
	send func()
}

const delay = 300 * time.Millisecond

func startFakeServer(t *testing.T) *fakeServer {
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeServer{t: t, socket: socket, peers: map[string]*fakePeer{}, withheld: func(blockPosition) time.Duration { return 0 }}
	t.Cleanup(func() { socket.Close() })
	return f
}

func (f *fakeServer) serve() {
	buffer := make([]byte, 1<<16)
	for {
		f.socket.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		size, from, err := f.socket.ReadFromUDP(buffer)
		nowNS := monotonic.Now()
		for _, d := range f.later {
			if d.atNS <= nowNS {
				d.send()
			}
		}
		f.later = slices.DeleteFunc(f.later, func(d delayed) bool { return d.atNS <= nowNS })
		if err != nil {
			if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
				continue
			}
			return
		}
		packet := slices.Clone(buffer[:size])
		peer := f.peers[from.String()]
		if peer == nil {
			peer = &fakePeer{}
			peer.transport = newTransport(nowNS, func(data []byte) { f.socket.WriteToUDP(data, from) }, func(m []byte) { f.handle(peer, m) })
			peer.peerID = serverPeerID
			f.peers[from.String()] = peer
			identity := []byte{kindControl, controlSetPeerID, 0, 9}
			peer.channels[0].queued = append(peer.channels[0].queued, identity)
			peer.flush(0, nowNS)
		}
		binary.BigEndian.PutUint16(packet[4:], serverPeerID)
		peer.Receive(packet, nowNS)
		if peer.closed == errDisconnected && peer.name != "" {
			gone := message(toClientUpdatePlayerList).u8(playerListRemove).u16(1).text(peer.name).data
			peer.name = ""
			for _, other := range f.peers {
				if other.name != "" {
					other.Send(0, true, gone, nowNS)
				}
			}
		}
	}
}

func (f *fakeServer) handle(p *fakePeer, data []byte) {
	nowNS := monotonic.Now()
	r := &reader{data: data}
	reply := func(w *writer) { p.Send(0, true, w.data, nowNS) }
	switch r.u16() {
	case toServerInit:
		r.take(7)
		p.name = r.text()
		if f.deny {
			reply(message(toClientAccessDenied).u8(6).text("").u8(0))
			return
		}
		reply(message(toClientHello).u8(29).u16(0).u16(41).u32(mechanismFirstSRP).text(p.name))
	case toServerFirstSRP:
		reply(message(toClientAuthAccept))
	case toServerInit2:
		reply(message(toClientAnnounceMedia))
	case toServerClientReady:
		f.move(p, [3]float32{8, 8, 8})
	case toServerChatMessage:
		text := r.wideText()
		var to [3]float32
		var number int
		var node play.Node
		if _, err := fmt.Sscanf(text, "/tickdisk_teleport %g %g %g", &to[0], &to[1], &to[2]); err == nil {
			if to[1] < 0 {
				reply(message(toClientChatMessage).u8(1).u8(0).wideText("").wideText("-!- too deep"))
				return
			}
			f.move(p, to)
		} else if _, err := fmt.Sscanf(text, "/tickdisk_look %d %d %d", &node[0], &node[1], &node[2]); err == nil {
			said := fmt.Sprintf("look %d %d %d other default:dirt\x1b(c@#f3d2ff) (0.2 s)", node[0], node[1], node[2])
			if node[1] > 100 {
				said = fmt.Sprintf("-!- no terrain is stored at %d %d %d", node[0], node[1], node[2])
			}
			f.after(delay, func() {
				p.Send(0, true, message(toClientChatMessage).u8(1).u8(0).wideText("").wideText(said).data, monotonic.Now())
			})
		} else if _, err := fmt.Sscanf(text, "/tickdisk_ping %d", &number); err == nil {
			reply(message(toClientChatMessage).u8(1).u8(0).wideText("").wideText("pong 999"))
			f.after(delay, func() {
				p.Send(0, true, message(toClientChatMessage).u8(1).u8(0).wideText("").wideText(fmt.Sprintf("pong %d", number)).data, monotonic.Now())
			})
		}
	case toServerInteract:
		interaction := r.u8()
		r.take(2 + 4 + 2)
		node := r.node()
		if interaction == interactStartDigging {
			return
		}
		p.placed = interaction == interactPlace
		content := uint16(contentAir)
		if p.placed {
			content = 300
		}
		// The block as it was before comes first, then the update of another node, and then the change. Only the last may count.
		f.block(p, blockOfNode(node), node, 300+contentAir-content)
		reply(message(toClientAddNode).node(play.Node{node[0] + 1, node[1], node[2]}).u16(content).u16(0).u8(0))
		f.after(delay, func() {
			if p.placed {
				f.block(p, blockOfNode(node), node, content)
			} else {
				p.Send(0, true, message(toClientRemoveNode).node(node).data, monotonic.Now())
			}
		})
	}
}

func (f *fakeServer) after(wait time.Duration, send func()) {
	f.later = append(f.later, delayed{monotonic.Now() + wait.Nanoseconds(), send})
}

// move puts a player somewhere and sends the 27 blocks around it.
func (f *fakeServer) move(p *fakePeer, to [3]float32) {
	w := message(toClientMovePlayer)
	for _, part := range to {
		w.u32(math.Float32bits(part * nodeSize))
	}
	p.Send(0, true, w.u32(0).u32(0).data, monotonic.Now())
	center := blockOf([3]float64{float64(to[0]), float64(to[1]), float64(to[2])})
	for dx := int16(-1); dx <= 1; dx++ {
		for dy := int16(-1); dy <= 1; dy++ {
			for dz := int16(-1); dz <= 1; dz++ {
				block := blockPosition{center[0] + dx, center[1] + dy, center[2] + dz}
				f.after(f.withheld(block), func() { f.block(p, block, play.Node{}, contentAir) })
			}
		}
	}
}

var encoder, _ = zstd.NewWriter(nil)

func (f *fakeServer) block(p *fakePeer, block blockPosition, node play.Node, content uint16) {
	raw := make([]byte, 5+4096*4)
	index := 5 + 2*((node[2]&15)<<8|(node[1]&15)<<4|node[0]&15)
	binary.BigEndian.PutUint16(raw[index:], content)
	w := message(toClientBlockData).nodePosition(block).bytes(encoder.EncodeAll(raw, nil)).u8(2)
	p.Send(2, true, w.data, monotonic.Now())
}

func playTrace(t *testing.T, f *fakeServer, lines string) ([]report.Record, play.Result) {
	t.Helper()
	actions, err := trace.Read(strings.NewReader(strings.TrimSpace(lines)), "players.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "actions.jsonl")
	records, err := report.NewRecorder(path)
	if err != nil {
		t.Fatal(err)
	}
	config := play.Config{Address: f.socket.LocalAddr().String(), StartNS: monotonic.Now(), Timeout: 2 * time.Second}
	go f.serve()
	result := play.Run(context.Background(), &Driver{horizontal: 1, vertical: 1, rangeBlocks: 1}, config, actions, records)
	if err := records.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var read []report.Record
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		var record report.Record
		if err := json.Unmarshal(scanner.Bytes(), &record); err != nil {
			t.Fatal(err)
		}
		read = append(read, record)
	}
	if len(read) != len(actions) {
		t.Errorf("%d records of %d actions", len(read), len(actions))
	}
	return read, result
}

// Every answer that completes an action comes 300 ms late, after answers that resemble it.
func TestActionsCompleteWhenTheirOwnAnswerComes(t *testing.T) {
	f := startFakeServer(t)
	f.withheld = func(block blockPosition) time.Duration {
		if block == (blockPosition{1, 1, 1}) || block == (blockPosition{63, 4, 1}) {
			return delay
		}
		return 0
	}
	records, result := playTrace(t, f, `
{"due_ns":0,"player":"p0","action":"join","parameters":{}}
{"due_ns":0,"player":"p1","action":"join","parameters":{}}
{"due_ns":0,"player":"p0","action":"walk","parameters":{"x":1,"z":0,"speed_nodes_per_s":1}}
{"due_ns":0,"player":"p0","action":"teleport","parameters":{"x":1000,"y":80,"z":8}}
{"due_ns":0,"player":"p0","action":"place","parameters":{"x":1000,"y":80,"z":8}}
{"due_ns":0,"player":"p0","action":"dig","parameters":{}}
{"due_ns":0,"player":"p0","action":"ping","parameters":{}}
{"due_ns":0,"player":"p0","action":"look","parameters":{"x":1000,"y":79,"z":-8}}
{"due_ns":0,"player":"p0","action":"look","parameters":{"x":1000,"y":101,"z":-8}}
{"due_ns":0,"player":"p0","action":"teleport","parameters":{"x":0,"y":-9,"z":0}}
{"due_ns":0,"player":"p0","action":"leave","parameters":{}}
{"due_ns":0,"player":"p0","action":"ping","parameters":{}}
{"due_ns":3000000000,"player":"p1","action":"leave","parameters":{}}`)
	var p0 []report.Record
	for _, record := range records {
		if record.Player == "p0" {
			p0 = append(p0, record)
		}
	}
	want := []struct {
		kind    trace.Kind
		outcome report.Outcome
		waits   bool
		says    string
	}{
		{trace.Join, report.Completed, true, "27 of 27 blocks were missing, and 27 were received"},
		{trace.Walk, report.Completed, false, ""},
		{trace.Teleport, report.Completed, true, "27 of 27 blocks were missing, and 27 were received"},
		{trace.Place, report.Completed, true, "the node's block arrived"},
		{trace.Dig, report.Completed, true, "the node's update arrived"},
		{trace.Ping, report.Completed, true, ""},
		{trace.Look, report.Completed, true, "default:dirt"},
		{trace.Look, report.Failed, false, "the server rejected the command: no terrain is stored at 1000 101 -8"},
		{trace.Teleport, report.Failed, false, "the server rejected the command: too deep"},
		{trace.Leave, report.Completed, false, "the server announced the leave"},
		{trace.Ping, report.Failed, false, "not issued: the player is not in the game: it has left"},
	}
	for i, w := range want {
		got := p0[i]
		if got.Kind != w.kind || got.Outcome != w.outcome || !strings.HasPrefix(got.Detail, w.says) {
			t.Errorf("action %d: %s %s (%s), wanted %s %s (%s)", i, got.Kind, got.Outcome, got.Detail, w.kind, w.outcome, w.says)
		}
		if w.waits && (got.CompletedNS == nil || *got.CompletedNS-*got.IssuedNS < delay.Nanoseconds()) {
			t.Errorf("%s was complete before its answer was sent", got.Kind)
		}
		if i > 0 && got.IssuedNS != nil && p0[i-1].CompletedNS != nil && *got.IssuedNS < *p0[i-1].CompletedNS {
			t.Errorf("%s was issued before the action before it was complete", got.Kind)
		}
	}
	if look := p0[6]; look.Seen == nil || *look.Seen != report.Other || look.Detail != "default:dirt" ||
		*look.X != 1000 || *look.Y != 79 || *look.Z != -8 {
		t.Errorf("the look is %+v", look)
	}
	if look := p0[7]; look.Seen == nil || *look.Seen != report.Refused {
		t.Errorf("the refused look is %+v", look)
	}
	if result.Players != 2 || result.Network.ConnectionErrors != 0 || result.Network.BlocksReceived != 27*3+3 {
		t.Errorf("%d players, %d blocks, %d connection errors", result.Players, result.Network.BlocksReceived, result.Network.ConnectionErrors)
	}
}

func TestAMissingBlockTimesOut(t *testing.T) {
	f := startFakeServer(t)
	f.withheld = func(block blockPosition) time.Duration {
		if block == (blockPosition{0, 1, 0}) {
			return time.Hour
		}
		return 0
	}
	records, _ := playTrace(t, f, `{"due_ns":0,"player":"p0","action":"join","parameters":{}}`)
	if got := records[0]; got.Outcome != report.TimedOut || got.CompletedNS != nil ||
		got.Detail != "the action did not end within 2s: 1 of 27 blocks are still missing, and 26 were received" {
		t.Errorf("the join is %s: %s", got.Outcome, got.Detail)
	}
}

func TestADeniedPlayerSaysWhy(t *testing.T) {
	f := startFakeServer(t)
	f.deny = true
	records, result := playTrace(t, f, `{"due_ns":0,"player":"p0","action":"join","parameters":{}}
{"due_ns":0,"player":"p0","action":"ping","parameters":{}}`)
	reason := "the server refused the player: the server is full (max_users)"
	if records[0].Outcome != report.Failed || records[0].Detail != reason ||
		records[1].Detail != "not issued: the player is not in the game: "+reason {
		t.Errorf("the records say %q and %q", records[0].Detail, records[1].Detail)
	}
	if result.FirstRefusal != "p0: "+reason || result.Network.ConnectionErrors != 1 {
		t.Errorf("the result says %q, %d errors", result.FirstRefusal, result.Network.ConnectionErrors)
	}
}
