package bedrock

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/go-gl/mathgl/mgl32"
	"github.com/google/uuid"
	"github.com/sandertv/gophertunnel/minecraft"
	"github.com/sandertv/gophertunnel/minecraft/protocol"
	"github.com/sandertv/gophertunnel/minecraft/protocol/packet"

	"tickdisk/players/bedrock/internal/client"
	"tickdisk/players/internal/play"
	"tickdisk/players/internal/report"
)

// fakeServer keeps what is sent to it, and seen what is reported to the player.
type fakeServer struct {
	sent     []packet.Packet
	answered bool
}

func (f *fakeServer) Arrivals() <-chan play.Arrival { return nil }
func (f *fakeServer) Answered() bool                { return f.answered }
func (f *fakeServer) Send(sent packet.Packet)       { f.sent = append(f.sent, sent) }
func (f *fakeServer) Leave()                        {}
func (f *fakeServer) Close() report.Network         { return report.Network{} }

type seen []string

func (s *seen) note(format string, values ...any)         { *s = append(*s, fmt.Sprintf(format, values...)) }
func (s *seen) Moved(position [3]float64)                 { s.note("moved %.2f", position) }
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

// enter returns the connection of a player that is in the game, at the place 8 64 8.
func enter(t *testing.T, grantedChunks int32) (*connection, *fakeServer, *seen) {
	t.Helper()
	f, s := &fakeServer{}, &seen{}
	c := newConnection(&Driver{radiusChunks: 1, rangeChunks: 3}, "SERVER", f, s)
	receive(c, &packet.ChunkRadiusUpdated{ChunkRadius: grantedChunks}, chunkSent(0, 0), client.Spawned{Game: minecraft.GameData{
		EntityRuntimeID: 1, PlayerPosition: mgl32.Vec3{8.5, 67.62, 8.5},
	}})
	return c, f, s
}

func receive(c *connection, contents ...any) {
	for _, content := range contents {
		c.Receive(play.Arrival{Content: content})
	}
}

func chunkSent(x, z int32, results ...byte) *packet.SubChunk {
	sent := &packet.SubChunk{Position: protocol.SubChunkPos{x, 0, z}}
	for _, result := range append(results, protocol.SubChunkResultSuccess) {
		sent.SubChunkEntries = append(sent.SubChunkEntries, protocol.SubChunkEntry{Result: result})
	}
	return sent
}

func TestChunksArriveWithTheirContent(t *testing.T) {
	c, f, s := enter(t, 3)
	s.expect(t, "terrain", "moved [8.00 64.00 8.00]")
	here := [3]float64{8, 64, 8}
	if missing, pieces := c.Expect(here, 0); missing != 8 || pieces != 9 {
		t.Fatalf("%d of %d chunks are missing, wanted 8 of 9", missing, pieces)
	}
	receive(c, &packet.LevelChunk{Position: protocol.ChunkPos{1, 0}, SubChunkCount: protocol.SubChunkRequestModeLimited})
	if _, asked := f.sent[0].(*packet.SubChunkRequest); !asked || len(f.sent) != 1 || c.Missing() != 8 {
		t.Errorf("after a chunk without content, %d are missing, and %v were sent", c.Missing(), f.sent)
	}
	receive(c, chunkSent(1, 0, protocol.SubChunkResultChunkNotFound), chunkSent(2, 0))
	if c.Missing() != 8 {
		t.Errorf("a chunk without all its sub-chunks counts, or one outside the square: %d are missing", c.Missing())
	}
	receive(c, chunkSent(1, 0, protocol.SubChunkResultSuccessAllAir), &packet.LevelChunk{Position: protocol.ChunkPos{1, 1}, SubChunkCount: 5})
	if c.Missing() != 6 {
		t.Errorf("%d chunks are missing, wanted 6", c.Missing())
	}
	// Far away, the server forgets what it has sent, and a chunk of the old place that comes late does not count there.
	c.Expect([3]float64{808, 64, 8}, 0)
	receive(c, chunkSent(0, 1))
	if missing, _ := c.Expect(here, 0); missing != 9 {
		t.Errorf("back again, %d chunks are missing, wanted 9", missing)
	}
}

func TestThePlayerHoversAboveItsPlace(t *testing.T) {
	c, f, s := enter(t, 3)
	s.expect(t, "terrain", "moved [8.00 64.00 8.00]")
	receive(c, &packet.MovePlayer{EntityRuntimeID: 2, Position: mgl32.Vec3{1, 2, 3}},
		&packet.MovePlayer{EntityRuntimeID: 1, Position: mgl32.Vec3{-87.5, 73.621, 0.5}})
	s.expect(t, "moved [-88.00 70.00 0.00]")
	c.Move(play.Stance{Position: [3]float64{-88, 70, 0}, Velocity: [3]float64{4, 0, 0}}, 0)
	input := f.sent[0].(*packet.PlayerAuthInput)
	position, step := mgl32.Vec3{-87.5, 73.62, 0.5}, mgl32.Vec3{0.2, 0, 0}
	if input.Position.Sub(position).Len() > 1e-3 || input.Delta.Sub(step).Len() > 1e-3 || input.Tick != 1 {
		t.Errorf("the player sends %+v", input)
	}
	c.Place(play.Node{-88, 70, 0}, play.Stance{Position: [3]float64{-88, 70, 0}}, 0)
	click := f.sent[1].(*packet.InventoryTransaction).TransactionData.(*protocol.UseItemTransactionData)
	if click.BlockPosition != (protocol.BlockPos{-88, 69, 0}) || click.ActionType != protocol.UseItemActionClickBlock {
		t.Errorf("the player clicks %+v", click)
	}
}

func TestUpdatesOfBlocks(t *testing.T) {
	c, _, s := enter(t, 3)
	*s = nil
	at := protocol.BlockPos{-1, 64, 2}
	receive(c, &packet.UpdateBlock{Position: at, NewBlockRuntimeID: 2532}, &packet.UpdateBlock{Position: at, NewBlockRuntimeID: air},
		&packet.UpdateBlock{Position: at, NewBlockRuntimeID: air, Layer: 1})
	s.expect(t, "node [-1 64 2] air false", "node [-1 64 2] air true")
}

func TestAnswersToCommands(t *testing.T) {
	c, f, s := enter(t, 3)
	*s = nil
	c.Command("tickdisk_ping 7", 0)
	request := f.sent[0].(*packet.CommandRequest)
	if request.CommandLine != "/tickdisk_ping 7" {
		t.Errorf("the command is %q", request.CommandLine)
	}
	answer := func(origin uuid.UUID, messages ...protocol.CommandOutputMessage) *packet.CommandOutput {
		return &packet.CommandOutput{CommandOrigin: protocol.CommandOrigin{UUID: origin}, OutputMessages: messages}
	}
	own := request.CommandOrigin.UUID
	receive(c, answer(uuid.New(), protocol.CommandOutputMessage{Success: true, Message: "pong 7"}), answer(own))
	s.expect(t)
	receive(c, answer(own, protocol.CommandOutputMessage{Success: true, Message: "pong 7"}))
	s.expect(t, "heard pong 7")
	receive(c, answer(own, protocol.CommandOutputMessage{Message: "%commands.generic.syntax", Parameters: []string{"/x", "y"}}))
	s.expect(t, "refused %commands.generic.syntax /x y")
	c.Command("tickdisk_look -1 2 3", 0)
	look := f.sent[1].(*packet.CommandRequest)
	if look.CommandLine != "/tickdisk_look -1 2 3" {
		t.Errorf("the command is %q", look.CommandLine)
	}
	receive(c, answer(own, protocol.CommandOutputMessage{Success: true, Message: "look -1 2 3 air minecraft:air"}),
		answer(look.CommandOrigin.UUID, protocol.CommandOutputMessage{Success: true, Message: "look -1 2 3 placed minecraft:stone"}))
	s.expect(t, "heard look -1 2 3 placed minecraft:stone")
}

func TestPlayersThatLeaveHaveNames(t *testing.T) {
	c, _, s := enter(t, 3)
	*s = nil
	one, two := uuid.New(), uuid.New()
	list := func(action byte, entries ...protocol.PlayerListEntry) *packet.PlayerList {
		return &packet.PlayerList{ActionType: action, Entries: entries}
	}
	receive(c, list(packet.PlayerListActionAdd, protocol.PlayerListEntry{UUID: one, Username: "p001"}),
		list(packet.PlayerListActionRemove, protocol.PlayerListEntry{UUID: two}, protocol.PlayerListEntry{UUID: one}))
	s.expect(t, "gone p001")
}

func TestTheFirstReasonOfAnEndCounts(t *testing.T) {
	c, _, _ := enter(t, 3)
	receive(c, &packet.Disconnect{Message: "no place for p099"}, errors.New("the connection to the server has ended"))
	if got := c.Closed(); got == nil || got.Error() != "the server disconnected the player: no place for p099" {
		t.Errorf("the reason is %v", got)
	}
	c, _, _ = enter(t, 3)
	c.Leave(0)
	if receive(c, errors.New("the connection to the server has ended")); c.Closed() != nil {
		t.Errorf("a leave is reported as an error: %v", c.Closed())
	}
}

func TestAServerThatGrantsTooSmallARange(t *testing.T) {
	c, _, s := enter(t, 1)
	s.expect(t, "terrain")
	want := "the server grants a range of 1 chunks, and joins need 2; raise the server's chunk radius"
	if got := c.Closed(); got == nil || got.Error() != want {
		t.Errorf("the reason is %v", got)
	}
}

func TestProgress(t *testing.T) {
	f := &fakeServer{}
	c := newConnection(&Driver{}, "SERVER", f, &seen{})
	if got := c.Progress(); got != "SERVER does not answer" {
		t.Errorf("without a packet, the progress is %q", got)
	}
	f.answered = true
	if got := c.Progress(); got != "the server did not let the player in" {
		t.Errorf("with a packet, the progress is %q", got)
	}
}
