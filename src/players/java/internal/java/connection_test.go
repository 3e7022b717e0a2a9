package java

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"tickdisk/players/internal/play"
	"tickdisk/players/internal/report"
	"tickdisk/players/java/internal/client"
	"tickdisk/players/java/internal/protocol"
)

// fakeServer keeps what is sent to it, and seen what is reported to the player.
type fakeServer struct {
	sent     [][]byte
	answered bool
	full     error
}

func (f *fakeServer) Arrivals() <-chan play.Arrival { return nil }
func (f *fakeServer) Answered() bool                { return f.answered }
func (f *fakeServer) Compress()                     { f.sent = append(f.sent, []byte("compression")) }
func (f *fakeServer) Leave()                        {}
func (f *fakeServer) Close() report.Network         { return report.Network{} }
func (f *fakeServer) Send(packets ...[]byte) error {
	f.sent = append(f.sent, packets...)
	return f.full
}

// expect compares with what was sent since the last call.
func (f *fakeServer) expect(t *testing.T, wanted ...[]byte) {
	t.Helper()
	if !slices.EqualFunc(f.sent, wanted, bytes.Equal) {
		t.Errorf("sent were %x, wanted %x", f.sent, wanted)
	}
	f.sent = nil
}

type seen []string

func (s *seen) note(format string, values ...any)         { *s = append(*s, fmt.Sprintf(format, values...)) }
func (s *seen) Moved(position [3]float64)                 { s.note("moved %v", position) }
func (s *seen) Terrain()                                  { s.note("terrain") }
func (s *seen) Awaited() (play.Node, bool)                { return play.Node{}, false }
func (s *seen) NodeIs(node play.Node, air bool, _ string) { s.note("node %v air %v", node, air) }
func (s *seen) Heard(text string)                         { s.note("heard %s", text) }
func (s *seen) Refused(reason string)                     { s.note("refused %s", reason) }
func (s *seen) Gone(name string)                          { s.note("gone %s", name) }

// expect compares with what was reported since the last call.
func (s *seen) expect(t *testing.T, wanted ...string) {
	t.Helper()
	if !slices.Equal(*s, wanted) {
		t.Errorf("reported were %q, wanted %q", *s, wanted)
	}
	*s = nil
}

func join() (*connection, *fakeServer, *seen) {
	f, s := &fakeServer{}, &seen{}
	return newConnection(&Driver{radiusChunks: 1, rangeChunks: 2}, "SERVER", [][]byte{[]byte("hello")}, f, s), f, s
}

func receive(c *connection, number protocol.Number, content string) {
	c.Receive(play.Arrival{Content: protocol.Packet{Number: number, Content: []byte(content)}})
}

func TestTheWayIntoTheGame(t *testing.T) {
	c, f, s := join()
	c.Receive(play.Arrival{Content: client.Connected{}})
	f.expect(t, []byte("hello"))
	receive(c, protocol.SetCompression, "\x01")
	receive(c, protocol.LoginSuccess, "")
	f.expect(t, []byte("compression"), []byte{3}, []byte("\x00\x05en_us\x02\x00\x01\x7f\x01\x00\x01\x00"))
	receive(c, protocol.SelectKnownPacks, "\x00packs")
	receive(c, protocol.ConfigurationKeepAlive, "12345678")
	receive(c, protocol.FinishConfiguration, "")
	f.expect(t, []byte("\x07\x00packs"), []byte("\x0412345678"), []byte{3})
	receive(c, protocol.KeepAlive, "12345678")
	receive(c, protocol.Ping, "1234")
	receive(c, protocol.ChunkBatchFinished, "\x09")
	f.expect(t, []byte("\x1b12345678"), []byte("\x2c1234"), []byte{0x0a, 0x42, 0x80, 0, 0})
	s.expect(t)
	const zeros = "\x00\x00\x00\x00\x00"
	receive(c, protocol.PlayerPosition, "\x02"+"\x40\x21\x00"+zeros+"\x40\x50\x80"+zeros+"\xc0\x55\xe0"+zeros)
	f.expect(t, []byte{0, 2})
	s.expect(t, "moved [8 64 -88]")
	if c.Closed() != nil {
		t.Error(c.Closed())
	}
}

func coordinates(x, z byte) string { return string([]byte{0, 0, 0, x, 0, 0, 0, z}) }

func TestChunks(t *testing.T) {
	c, _, s := join()
	center := func(x, z byte) { receive(c, protocol.SetChunkCenter, string([]byte{x, z})) }
	missing := func(x float64) int {
		count, pieces := c.Expect([3]float64{x, 64, 168}, 0)
		if pieces != 9 {
			t.Errorf("%d chunks belong to the square", pieces)
		}
		return count
	}
	center(10, 10)
	for x := byte(9); x <= 11; x++ {
		for z := byte(9); z <= 11; z++ {
			receive(c, protocol.LevelChunk, coordinates(x, z))
		}
	}
	s.expect(t, slices.Repeat([]string{"terrain"}, 9)...)
	if got := missing(168); got != 0 {
		t.Errorf("%d chunks are missing", got)
	}
	receive(c, protocol.ForgetLevelChunk, coordinates(9, 11)) // z comes first.
	if got := missing(168); got != 1 {
		t.Errorf("after one was forgotten, %d chunks are missing", got)
	}
	if receive(c, protocol.LevelChunk, coordinates(9, 9)); c.Missing() != 1 {
		t.Errorf("a chunk that came again counts: %d are missing", c.Missing())
	}
	if receive(c, protocol.LevelChunk, coordinates(11, 9)); c.Missing() != 0 {
		t.Errorf("%d chunks are missing", c.Missing())
	}
	// Far away, the chunks are forgotten, and one of the old place that comes late does not count there.
	center(15, 10)
	receive(c, protocol.LevelChunk, coordinates(11, 9))
	center(10, 10)
	if got := missing(168); got != 9 {
		t.Errorf("back again, %d chunks are missing, wanted 9", got)
	}
}

func TestThePlayerHoversAboveItsPlace(t *testing.T) {
	c, f, _ := join()
	stance := play.Stance{Position: [3]float64{-88, 70, 0}, Velocity: [3]float64{4, 0, 0}}
	c.Move(stance, 0)
	f.expect(t, protocol.Position([3]float64{-87.5, 72, 0.5}), []byte{0x0c})
	c.Place(play.Node{-88, 70, 0}, stance, 0)
	c.Dig(play.Node{-88, 70, 0}, stance, 0)
	f.expect(t, protocol.UseItemOn([3]int{-88, 69, 0}, 1), protocol.StartDigging([3]int{-88, 70, 0}, 2))
}

func TestUpdatesOfBlocks(t *testing.T) {
	c, _, s := join()
	at := "\xff\xff\xff\xc0\x00\x00\x20\x46" // x -1, y 70, z 2
	receive(c, protocol.BlockUpdate, at+"\x01")
	receive(c, protocol.BlockUpdate, at+"\x00")
	s.expect(t, "node [-1 70 2] air false", "node [-1 70 2] air true")
}

func TestAnswersToCommands(t *testing.T) {
	c, f, s := join()
	c.Command("tickdisk_ping 7", 0)
	f.expect(t, []byte("\x06\x0ftickdisk_ping 7"))
	receive(c, protocol.SystemChat, "\x08\x00\x06pong 7\x00")
	receive(c, protocol.SystemChat, "\x08\x00\x10refused: no file\x00")
	s.expect(t, "heard pong 7", "refused no file")
	c.Command("tickdisk_look -1 2 3", 0)
	f.expect(t, []byte("\x06\x14tickdisk_look -1 2 3"))
	receive(c, protocol.SystemChat, "\x08\x00\x22look -1 2 3 placed minecraft:stone\x00")
	s.expect(t, "heard look -1 2 3 placed minecraft:stone")
}

func TestPlayersThatLeaveHaveNames(t *testing.T) {
	c, _, s := join()
	one, two := strings.Repeat("1", 16), strings.Repeat("2", 16)
	receive(c, protocol.PlayerInfoUpdate, "\x01\x01"+one+"\x04p001\x00")
	receive(c, protocol.PlayerInfoRemove, "\x02"+two+one)
	receive(c, protocol.PlayerInfoRemove, "\x01"+one)
	s.expect(t, "gone p001")
}

func TestWhyAConnectionEnds(t *testing.T) {
	ended := errors.New("the server has closed the connection")
	cases := map[string]func(*connection, *fakeServer){
		`the server refused a player of Minecraft 1.21.11 (protocol 774): please use 1.21.10`: func(c *connection, _ *fakeServer) {
			receive(c, protocol.LoginDisconnect, "\x14\"please use 1.21.10\"")
		},
		"the server disconnected the player: bye": func(c *connection, _ *fakeServer) {
			receive(c, protocol.Disconnect, "\x08\x00\x03bye")
		},
		"the server wants to check the player's account; let it accept players offline": func(c *connection, _ *fakeServer) {
			receive(c, protocol.EncryptionRequest, "")
		},
		"a packet of the server (0x002c of play) is shorter than in protocol 774": func(c *connection, _ *fakeServer) {
			receive(c, protocol.LevelChunk, "\x00\x00")
		},
		"full": func(c *connection, f *fakeServer) {
			f.full = errors.New("full")
			c.Move(play.Stance{}, 0)
		},
		ended.Error(): func(*connection, *fakeServer) {},
	}
	for want, cause := range cases {
		c, f, _ := join()
		cause(c, f)
		c.Receive(play.Arrival{Content: ended})
		if got := c.Closed(); got == nil || got.Error() != want {
			t.Errorf("the reason is %q, wanted %q", got, want)
		}
	}
	c, _, _ := join()
	c.Leave(0)
	if c.Receive(play.Arrival{Content: ended}); c.Closed() != nil {
		t.Errorf("a leave is reported as an error: %v", c.Closed())
	}
}

func TestProgress(t *testing.T) {
	c, f, _ := join()
	if got := c.Progress(); got != "SERVER does not answer" {
		t.Errorf("without a connection, the progress is %q", got)
	}
	f.answered = true
	if got := c.Progress(); got != "the server did not let the player in, and its last packet was 0x0000 of login" {
		t.Errorf("with a connection, the progress is %q", got)
	}
}

func TestOptions(t *testing.T) {
	for options, fits := range map[Driver]bool{
		{1, 2}: true, {3, 2}: true, {4, 2}: false, {-1, 2}: false, {1, 1}: false, {33, 32}: true, {1, 33}: false,
	} {
		if err := options.Check(); (err == nil) != fits {
			t.Errorf("%+v gives %v", options, err)
		}
	}
	for _, address := range []string{"127.0.0.1", "127.0.0.1:x", "127.0.0.1:65536"} {
		if _, err := (&Driver{}).Open(address, "p000", nil); err == nil || !strings.Contains(err.Error(), " is not an address: ") {
			t.Errorf("%s gives %v", address, err)
		}
	}
}

func TestChunkOf(t *testing.T) {
	cases := map[[3]float64]chunk{
		{0, 64, 0}: {0, 0}, {15, 64, -1}: {0, -1}, {15.6, 64, -0.4}: {1, 0}, {-16, 0, -17}: {-1, -2},
	}
	for position, want := range cases {
		if got := chunkOf(position); got != want {
			t.Errorf("%v lies in chunk %v, wanted %v", position, got, want)
		}
	}
}
