package play

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"tickdisk/players/internal/report"
	"tickdisk/players/internal/trace"
)

func TestActionsComplete(t *testing.T) {
	p := playLines(t, context.Background(), "here", game, "p0 join", "p0 walk yaw_degrees=0 speed_nodes_per_s=1",
		"p0 teleport x=100 y=9 z=-5", "p0 place", "p0 dig", "p0 place x=1 y=2 z=3", "p0 ping", "p0 marker number=7", "p0 burn milliseconds=1",
		"p0 look x=-1 y=2 z=3", "p0 attack player=1", "p0 npc number=4", "p0 kill number=4", "p0 leave", "p0 ping")
	p.expect(t,
		"join completed: 2 of 5 pieces were missing, and 2 were received",
		"walk completed: ",
		"teleport completed: 2 of 5 pieces were missing, and 2 were received",
		"place completed: seen",
		"dig completed: seen",
		"place completed: seen",
		"ping completed: ",
		"marker completed: ",
		"burn completed: ",
		"look completed: a:stone",
		"attack completed: ",
		"npc completed: ",
		"kill completed: ",
		"leave completed: the leave was sent; no other player of this process was in the game to see the server announce it",
		"ping failed: not issued: the player is not in the game: it has left",
	)
	if n := p.result.Network; n.ConnectionErrors != 0 || n.BlocksReceived != 4 || n.PacketsDropped != 1 || len(p.result.Lags) == 0 {
		t.Errorf("the result is %+v", p.result)
	}
	for i := 1; i < len(p.records)-1; i++ {
		if *p.records[i].IssuedNS < *p.records[i-1].CompletedNS {
			t.Errorf("record %d was issued before the action before it was complete", i)
		}
	}
}

func TestALookSaysWhatIsThere(t *testing.T) {
	answers := map[string]string{"-1 2 3": "placed a:stone", "1 2 3": "air void", "2 2 3": "other a:grass (2 s)", "3 2 3": "water"}
	refused := map[string]string{"4 2 3": "4 2 3", "6 2 3": "4 2 3"} // the last is a late answer to the look before
	p := playLines(t, context.Background(), "here", func(c *fakeConnection, request string) {
		at, looks := strings.CutPrefix(request, "tickdisk_look ")
		switch {
		case !looks:
			game(c, request)
		case answers[at] == "":
			c.show(func() { c.observer.Refused("nothing is stored at " + refused[at]) })
		default:
			c.show(func() { c.observer.Heard("look 9 9 9 placed a:stone") }) // the answer to another look
			c.show(func() { c.observer.Heard("look " + at + "0 placed a:stone") })
			c.show(func() { c.observer.Heard("look " + at + " " + answers[at]) })
		}
	}, "p0 join", "p0 look x=-1 y=2 z=3", "p0 look x=1 y=2 z=3", "p0 look x=2 y=2 z=3", "p0 look x=3 y=2 z=3", "p0 look x=4 y=2 z=3",
		"p0 look x=6 y=2 z=3", "p0 leave", "p0 look x=5 y=2 z=3")
	p.expect(t,
		"join completed: 2 of 5 pieces were missing, and 2 were received",
		"look completed: a:stone",
		"look completed: void",
		"look completed: a:grass",
		"look failed: the server's answer says nothing that the client knows: water",
		"look failed: the server rejected the command: nothing is stored at 4 2 3",
		"look failed: the server rejected the command: nothing is stored at 4 2 3",
		"leave completed: the leave was sent; no other player of this process was in the game to see the server announce it",
		"look failed: not issued: the player is not in the game: it has left",
	)
	wanted := []string{"", "-1 2 3 placed", "1 2 3 air", "2 2 3 other", "3 2 3 ", "4 2 3 refused", "6 2 3 ", "", "5 2 3 "}
	for i, record := range p.records {
		if got := aboutNode(record); got != wanted[i] {
			t.Errorf("record %d is about %q, wanted %q", i, got, wanted[i])
		}
	}
}

// Places and digs say where they were, also if the trace leaves that to the player.
func TestAnEditSaysWhereItWas(t *testing.T) {
	p := playLines(t, context.Background(), "here", game, "p0 join", "p0 dig", "p0 place", "p0 dig", "p0 place x=1 y=2 z=3", "p0 ping")
	wanted := []string{"", "", "0 7 0 ", "0 7 0 ", "1 2 3 ", ""}
	for i, record := range p.records {
		if got := aboutNode(record); got != wanted[i] {
			t.Errorf("record %d (%s) is about %q, wanted %q", i, record.Kind, got, wanted[i])
		}
	}
}

// aboutNode returns the position in a record and what was seen there, or nothing.
func aboutNode(record report.Record) string {
	if record.X == nil || record.Y == nil || record.Z == nil {
		return ""
	}
	var seen report.Seen
	if record.Seen != nil {
		seen = *record.Seen
	}
	return fmt.Sprintf("%d %d %d %s", *record.X, *record.Y, *record.Z, seen)
}

// Each answer belongs to another action than the one that the player waits for.
func TestOnlyTheOwnAnswerCompletesAnAction(t *testing.T) {
	p := playLines(t, context.Background(), "here", func(c *fakeConnection, request string) {
		switch strings.Fields(request)[0] {
		case "join":
			game(c, request)
		case "tickdisk_ping":
			c.show(func() { c.observer.Heard("pong 11") })
			c.show(func() { c.observer.NodeIs(Node{}, false, "seen") })
		case "place":
			c.show(func() { c.observer.NodeIs(Node{1, 2, 3}, true, "seen") })
			c.show(func() { c.observer.NodeIs(Node{1, 2, 4}, false, "seen") })
			c.show(func() { c.observer.Refused("it was another command") })
		case "tickdisk_teleport":
			c.show(func() { c.observer.Moved([3]float64{1, 2, 8}) })
		case "tickdisk_burn":
			c.show(func() { c.observer.Refused("no fire") })
		}
	}, "p0 join", "p0 ping", "p0 place x=1 y=2 z=3", "p0 teleport x=1 y=2 z=3", "p0 burn milliseconds=1")
	p.expect(t,
		"join completed: 2 of 5 pieces were missing, and 2 were received",
		"ping timed_out: the action did not end within 100ms: the server did not answer, and 0 pieces were received",
		"place timed_out: the action did not end within 100ms: the server did not answer, and 0 pieces were received",
		"teleport timed_out: the action did not end within 100ms: the server did not move the player",
		"burn failed: the server rejected the command: no fire",
	)
}

func TestTerrainThatDoesNotComeTimesOut(t *testing.T) {
	p := playLines(t, context.Background(), "here", func(c *fakeConnection, request string) {
		c.show(func() { c.observer.Moved([3]float64{}) })
		c.show(func() { c.observer.Terrain(); c.missing-- })
	}, "p0 join")
	p.expect(t, "join timed_out: the action did not end within 100ms: 1 of 5 pieces are still missing, and 1 were received")
}

func TestAPlayerThatIsNotLetIn(t *testing.T) {
	silent := func(*fakeConnection, string) {}
	p := playLines(t, context.Background(), "here", silent, "p0 join", "p0 ping")
	p.expect(t, "join timed_out: the action did not end within 100ms: the door is shut",
		"ping failed: not issued: the player is not in the game: its join timed out")
	if p.result.Network.ConnectionErrors != 1 || p.driver.opened[0].updates < 5 {
		t.Errorf("%d connection errors, %d updates", p.result.Network.ConnectionErrors, p.driver.opened[0].updates)
	}
	p = playLines(t, context.Background(), "", silent, "p0 join", "p0 ping")
	p.expect(t, "join failed: not issued: there is no address", "ping failed: not issued: the player is not in the game: it has not joined")
}

func TestALostConnection(t *testing.T) {
	p := playLines(t, context.Background(), "here", func(c *fakeConnection, request string) {
		game(c, request)
		if request == "tickdisk_ping 1" {
			c.show(func() { c.closed = errors.New("the server went away") })
			<-c.arrivals // The answer never comes.
		}
	}, "p0 join", "p0 ping", "p0 ping", "p0 join", "p0 leave")
	p.expect(t,
		"join completed: 2 of 5 pieces were missing, and 2 were received",
		"ping failed: the server went away",
		"ping failed: not issued: the player is not in the game: the server went away",
		"join completed: 2 of 5 pieces were missing, and 2 were received",
		"leave completed: the leave was sent; no other player of this process was in the game to see the server announce it",
	)
	if p.result.FirstRefusal != "p0: the server went away" || p.result.Network.ConnectionErrors != 1 {
		t.Errorf("the result is %+v", p.result)
	}
}

func TestALeaveIsSeenByAnother(t *testing.T) {
	stays := make(chan *fakeConnection, 1)
	p := playLines(t, context.Background(), "here", func(c *fakeConnection, request string) {
		switch request {
		case "tickdisk_burn 1":
			stays <- c // The player that stays waits for an answer that comes after the leave.
		case "place [1 2 3]":
			other := <-stays // The player that leaves does so while the other one is in the game.
			game(c, request)
			stays <- other
		case "leave":
			select {
			case other := <-stays:
				other.show(func() {
					other.observer.Gone("p9")
					other.observer.Gone("p0")
				})
				other.show(func() { other.observer.Heard("burnt 1") })
			default: // The other player leaves at the end of the trace.
			}
		default:
			game(c, request)
		}
	}, "p1 join", "p1 burn milliseconds=1", "p0 join", "p0 place x=1 y=2 z=3", "p0 leave")
	for _, record := range p.records {
		if record.Outcome != report.Completed ||
			record.Kind == trace.Leave && !strings.HasPrefix(record.Detail, "the server announced the leave") {
			t.Errorf("%s of %s is %s: %s", record.Kind, record.Player, record.Outcome, record.Detail)
		}
	}
}

func TestAnInterruptedTraceHasAllItsRecords(t *testing.T) {
	interrupted, interrupt := context.WithCancel(context.Background())
	p := playLines(t, interrupted, "here", func(c *fakeConnection, request string) {
		if request == "tickdisk_ping 1" {
			time.AfterFunc(timeout/10, interrupt)
			return
		}
		game(c, request)
	}, "p0 join", "p0 ping", "p0 dig x=1 y=2 z=3", "p0 leave")
	p.expect(t,
		"join completed: 2 of 5 pieces were missing, and 2 were received",
		"ping failed: not completed: the client was stopped",
		"dig failed: not issued: the client was stopped",
		"leave failed: not issued: the client was stopped",
	)
	if p.driver.opened[0].leaves != 1 {
		t.Error("the player did not tell the server that it leaves")
	}
}

func TestAnActionThatTheDriverCannotDo(t *testing.T) {
	driver := &fakeDriver{kinds: []trace.Kind{trace.Join, trace.Ping}}
	actions := parse(t, "p0 join", "p0 ping", "p0 burn milliseconds=1")
	err := CheckKinds(driver, actions, "players.jsonl")
	if err == nil || err.Error() != "players.jsonl, line 3: players of fake cannot burn; leave the action out" {
		t.Errorf("the error is %v", err)
	}
	if err := CheckKinds(driver, actions[:2], "players.jsonl"); err != nil {
		t.Errorf("actions that the driver can do are refused: %v", err)
	}
}

func TestNodeAt(t *testing.T) {
	cases := map[[3]float64]Node{
		{0, 0, 0}: {0, 0, 0}, {15.4, -0.5, -0.6}: {15, 0, -1}, {15.5, -16.5, -16.51}: {16, -16, -17},
	}
	for position, want := range cases {
		if got := NodeAt(position); got != want {
			t.Errorf("%v lies in node %v, wanted %v", position, got, want)
		}
	}
}
