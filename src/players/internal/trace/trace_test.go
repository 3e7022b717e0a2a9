package trace

import (
	"strings"
	"testing"
)

func TestReadAcceptsEveryAction(t *testing.T) {
	lines := []string{
		`{"due_ns":0,"player":"p000","action":"join","parameters":{}}`,
		`{"due_ns":5,"player":"p000","action":"walk","parameters":{"yaw_degrees":90,"speed_nodes_per_s":4}}`,
		`{"due_ns":5,"player":"p001","action":"walk","parameters":{"x":1,"z":-1,"speed_nodes_per_s":0}}`,
		`{"due_ns":6,"player":"p000","action":"teleport","parameters":{"x":1,"y":80.5,"z":-3}}`,
		`{"due_ns":7,"player":"p000","action":"place","parameters":{}}`,
		`{"due_ns":7,"player":"p000","action":"dig","parameters":{"x":1,"y":2,"z":3}}`,
		`{"due_ns":8,"player":"p000","action":"ping","parameters":{}}`,
		`{"due_ns":8,"player":"p000","action":"look","parameters":{"x":-1,"y":2,"z":3}}`,
		`{"due_ns":8,"player":"p000","action":"attack","parameters":{"player":1}}`,
		`{"due_ns":8,"player":"p000","action":"npc","parameters":{"number":0}}`,
		`{"due_ns":8,"player":"p000","action":"kill","parameters":{"number":0}}`,
		`{"due_ns":9,"player":"p000","action":"leave","parameters":{}}`,
	}
	actions, err := Read(strings.NewReader(strings.Join(lines, "\n")), "players.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if len(actions) != len(lines) {
		t.Fatalf("%d actions from %d lines", len(actions), len(lines))
	}
	if got := actions[3]; got.Vector() != [3]float64{1, 80.5, -3} || got.DueNS != 6 || got.Kind != Teleport || got.Player != "p000" {
		t.Errorf("the teleport was read as %+v", got)
	}
}

func TestReadRejects(t *testing.T) {
	good := `{"due_ns":10,"player":"p0","action":"join","parameters":{}}`
	cases := map[string]struct{ lines, says string }{
		"empty":             {"", "holds no action"},
		"not JSON":          {good + "\nhello", "line 2: not a line of a player trace"},
		"unknown key":       {`{"due_ns":0,"player":"p0","action":"join","parameters":{},"mood":1}`, `unknown field "mood"`},
		"missing key":       {`{"due_ns":0,"player":"p0","action":"join"}`, "must all be there"},
		"unknown action":    {`{"due_ns":0,"player":"p0","action":"jump","parameters":{}}`, `unknown action "jump"`},
		"missing parameter": {`{"due_ns":0,"player":"p0","action":"teleport","parameters":{"x":1,"y":2}}`, "takes the parameters {x, y, z}, not {x, y}"},
		"unknown parameter": {`{"due_ns":0,"player":"p0","action":"join","parameters":{"x":1}}`, "not {x}"},
		"mixed parameters":  {`{"due_ns":0,"player":"p0","action":"walk","parameters":{"x":1,"yaw_degrees":2,"speed_nodes_per_s":1}}`, "walk takes"},
		"null parameter":    {`{"due_ns":0,"player":"p0","action":"teleport","parameters":{"x":1,"y":2,"z":null}}`, "z is null"},
		"text parameter":    {`{"due_ns":0,"player":"p0","action":"teleport","parameters":{"x":"1","y":2,"z":3}}`, "not a line"},
		"outside the map":   {`{"due_ns":0,"player":"p0","action":"teleport","parameters":{"x":40000,"y":2,"z":3}}`, "outside the map"},
		"no direction":      {`{"due_ns":0,"player":"p0","action":"walk","parameters":{"x":0,"z":0,"speed_nodes_per_s":1}}`, "no direction"},
		"negative speed":    {`{"due_ns":0,"player":"p0","action":"walk","parameters":{"x":1,"z":0,"speed_nodes_per_s":-1}}`, "negative"},
		"half a player":     {`{"due_ns":0,"player":"p0","action":"attack","parameters":{"player":0.5}}`, "positive whole number"},
		"negative time":     {`{"due_ns":-1,"player":"p0","action":"join","parameters":{}}`, "negative"},
		"bad name":          {`{"due_ns":0,"player":"p 0","action":"join","parameters":{}}`, `player "p 0"`},
		"out of order":      {good + "\n" + strings.Replace(good, "10", "9", 1), "line 2: due_ns 9 comes before"},
		"two values":        {good + good, "more than one JSON value"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Read(strings.NewReader(c.lines), "players.jsonl")
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.HasPrefix(err.Error(), "players.jsonl") {
				t.Errorf("the error is %q, wanted one with %q that begins with the file", err, c.says)
			}
		})
	}
}
