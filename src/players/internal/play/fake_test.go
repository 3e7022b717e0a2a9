package play

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"tickdisk/players/internal/monotonic"
	"tickdisk/players/internal/report"
	"tickdisk/players/internal/trace"
)

// fakeDriver lets players into a game without a server. A test says what the game does with each request.
type fakeDriver struct {
	kinds  []trace.Kind
	serve  func(c *fakeConnection, request string)
	mutex  sync.Mutex
	opened []*fakeConnection
}

// fakeConnection has two pieces of terrain around every place.
type fakeConnection struct {
	observer Observer
	serve    func(c *fakeConnection, request string)
	arrivals chan Arrival
	missing  int
	closed   error
	leaves   int
	updates  int
}

var allKinds = []trace.Kind{
	trace.Join, trace.Walk, trace.Teleport, trace.Place, trace.Dig, trace.Ping, trace.Marker, trace.Burn, trace.Look,
	trace.Attack, trace.NPC, trace.Kill, trace.Leave,
}

const fakePeriod = 10 * time.Millisecond

func (d *fakeDriver) Traits() Traits {
	return Traits{Name: "fake", Kinds: d.kinds, UpdatePeriod: fakePeriod, Terrain: "pieces", PlaceDepth: 1}
}
func (d *fakeDriver) Flags(*flag.FlagSet) {}
func (d *fakeDriver) Check() error        { return nil }
func (d *fakeDriver) Completion() string  { return "" }

func (d *fakeDriver) Open(address, name string, observer Observer) (Connection, error) {
	if address == "" {
		return nil, errors.New("there is no address")
	}
	c := &fakeConnection{observer: observer, serve: d.serve, arrivals: make(chan Arrival, 100)}
	d.mutex.Lock()
	d.opened = append(d.opened, c)
	d.mutex.Unlock()
	c.serve(c, "join")
	return c, nil
}

// show lets the player's goroutine see what the server shows.
func (c *fakeConnection) show(what func()) { c.arrivals <- Arrival{what, monotonic.Now()} }

func (c *fakeConnection) moveTo(position [3]float64) {
	c.show(func() { c.observer.Moved(position) })
	for range 2 {
		c.show(func() {
			c.observer.Terrain()
			c.missing--
		})
	}
}

func (c *fakeConnection) Arrivals() <-chan Arrival           { return c.arrivals }
func (c *fakeConnection) Receive(arrival Arrival)            { arrival.Content.(func())() }
func (c *fakeConnection) Advance(int64)                      { c.updates++ }
func (c *fakeConnection) Move(Stance, int64)                 {}
func (c *fakeConnection) Stand(Stance, int64)                {}
func (c *fakeConnection) Missing() int                       { return c.missing }
func (c *fakeConnection) Command(text string, _ int64)       { c.serve(c, text) }
func (c *fakeConnection) Place(node Node, _ Stance, _ int64) { c.serve(c, fmt.Sprint("place ", node)) }
func (c *fakeConnection) Dig(node Node, _ Stance, _ int64)   { c.serve(c, fmt.Sprint("dig ", node)) }
func (c *fakeConnection) Progress() string                   { return "the door is shut" }
func (c *fakeConnection) Closed() error                      { return c.closed }
func (c *fakeConnection) Close() report.Network              { return report.Network{PacketsDropped: 1} }
func (c *fakeConnection) Expect([3]float64, int64) (missing, pieces int) {
	c.missing = 2
	return 2, 5
}

func (c *fakeConnection) Leave(int64) {
	c.leaves++
	c.serve(c, "leave")
}

// game is a server that does everything at once.
func game(c *fakeConnection, request string) {
	var to [3]float64
	var node Node
	number := 0
	if request == "join" {
		c.moveTo([3]float64{0, 8, 0})
	} else if count, _ := fmt.Sscanf(request, "tickdisk_teleport %g %g %g", &to[0], &to[1], &to[2]); count == 3 {
		c.moveTo(to)
	} else if count, _ := fmt.Sscanf(request, "place [%d %d %d]", &node[0], &node[1], &node[2]); count == 3 {
		c.show(func() { c.observer.NodeIs(node, false, "seen") })
	} else if count, _ := fmt.Sscanf(request, "dig [%d %d %d]", &node[0], &node[1], &node[2]); count == 3 {
		c.show(func() { c.observer.NodeIs(node, true, "seen") })
	} else if count, _ := fmt.Sscanf(request, "tickdisk_ping %d", &number); count == 1 {
		c.show(func() { c.observer.Heard(fmt.Sprint("pong ", number)) })
	} else if count, _ := fmt.Sscanf(request, "tickdisk_marker %d", &number); count == 1 {
		c.show(func() { c.observer.Heard(fmt.Sprintf("marker %d 4096 (2 s)", number)) })
	} else if count, _ := fmt.Sscanf(request, "tickdisk_look %d %d %d", &node[0], &node[1], &node[2]); count == 3 {
		c.show(func() { c.observer.Heard(fmt.Sprintf("look %d %d %d placed a:stone (2 s)", node[0], node[1], node[2])) })
	} else if count, _ := fmt.Sscanf(request, "tickdisk_burn %d", &number); count == 1 {
		c.show(func() { c.observer.Heard(fmt.Sprintf("burnt %d", number)) })
	} else if count, _ := fmt.Sscanf(request, "tickdisk_attack %d", &number); count == 1 {
		c.show(func() { c.observer.Heard(fmt.Sprintf("attacked %d 19", number)) })
	} else if count, _ := fmt.Sscanf(request, "tickdisk_npc %d", &number); count == 1 {
		c.show(func() { c.observer.Heard(fmt.Sprintf("npc %d", number)) })
	} else if count, _ := fmt.Sscanf(request, "tickdisk_kill %d", &number); count == 1 {
		c.show(func() { c.observer.Heard(fmt.Sprintf("killed %d 2", number)) })
	}
}

type played struct {
	records []report.Record
	result  Result
	driver  *fakeDriver
}

const timeout = 100 * time.Millisecond

// playLines plays lines such as "p0 place x=1 y=2 z=3", all of which are due at once.
func playLines(t *testing.T, interrupted context.Context, address string, serve func(*fakeConnection, string), lines ...string) played {
	t.Helper()
	actions := parse(t, lines...)
	path := filepath.Join(t.TempDir(), "actions.jsonl")
	recorder, err := report.NewRecorder(path)
	if err != nil {
		t.Fatal(err)
	}
	p := played{driver: &fakeDriver{kinds: allKinds, serve: serve}}
	p.result = Run(interrupted, p.driver, Config{Address: address, StartNS: monotonic.Now(), Timeout: timeout}, actions, recorder)
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		var record report.Record
		if err := json.Unmarshal(scanner.Bytes(), &record); err != nil {
			t.Fatal(err)
		}
		p.records = append(p.records, record)
	}
	if len(p.records) != len(actions) {
		t.Errorf("%d records of %d actions", len(p.records), len(actions))
	}
	return p
}

func parse(t *testing.T, lines ...string) []trace.Action {
	t.Helper()
	var text strings.Builder
	for _, line := range lines {
		words := strings.Fields(line)
		var parameters []string
		for _, word := range words[2:] {
			name, value, _ := strings.Cut(word, "=")
			parameters = append(parameters, fmt.Sprintf("%q:%s", name, value))
		}
		fmt.Fprintf(&text, "{\"due_ns\":0,\"player\":%q,\"action\":%q,\"parameters\":{%s}}\n", words[0], words[1], strings.Join(parameters, ","))
	}
	actions, err := trace.Read(strings.NewReader(text.String()), "players.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return actions
}

func (p played) expect(t *testing.T, wanted ...string) {
	t.Helper()
	for i, record := range p.records {
		got := fmt.Sprintf("%s %s: %s", record.Kind, record.Outcome, record.Detail)
		if i >= len(wanted) || got != wanted[i] {
			t.Errorf("record %d is %q, wanted %q", i, got, append(wanted, make([]string, i+1)...)[i])
		}
		if (record.CompletedNS != nil) != (record.Outcome == report.Completed) {
			t.Errorf("record %d has the wrong times: %+v", i, record)
		}
	}
}
