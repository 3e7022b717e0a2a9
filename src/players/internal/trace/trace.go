// Package trace reads player traces. A trace has one JSON object for each action, whose due time counts from the start of the
// trace.
package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// Kind names what a player does.
type Kind string

// The kinds of action that a trace may hold.
const (
	Join     Kind = "join"
	Walk     Kind = "walk"
	Teleport Kind = "teleport"
	Place    Kind = "place"
	Dig      Kind = "dig"
	Ping     Kind = "ping"
	Marker   Kind = "marker"
	Burn     Kind = "burn"
	Look     Kind = "look"
	Attack   Kind = "attack"
	NPC      Kind = "npc"
	Kill     Kind = "kill"
	Leave    Kind = "leave"
)

// forms has the sets of parameters that each kind of action accepts. An action must have all parameters of one set, and no
// others.
var forms = map[Kind][][]string{
	Join:     {{}},
	Walk:     {{"speed_nodes_per_s", "yaw_degrees"}, {"speed_nodes_per_s", "x", "z"}},
	Teleport: {{"x", "y", "z"}},
	Place:    {{"x", "y", "z"}, {}},
	Dig:      {{"x", "y", "z"}, {}},
	Ping:     {{}},
	Marker:   {{"number"}},
	Burn:     {{"milliseconds"}},
	Look:     {{"x", "y", "z"}},
	Attack:   {{"player"}},
	NPC:      {{"number"}},
	Kill:     {{"number"}},
	Leave:    {{}},
}

// The name of a Luanti player has at most 20 of these characters.
var playerName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,20}$`)

// MapLimit is the largest coordinate, in nodes each way. A map coordinate has 16 bits in the protocol. Luanti's map ends at 31,000 nodes.
const MapLimit = 31000

// Action is one line of a trace.
type Action struct {
	DueNS      int64              `json:"due_ns"`
	Player     string             `json:"player"`
	Kind       Kind               `json:"action"`
	Parameters map[string]float64 `json:"parameters"`
}

// Has returns whether the action has a parameter.
func (a Action) Has(parameter string) bool {
	_, found := a.Parameters[parameter]
	return found
}

// Vector returns the parameters x, y and z.
func (a Action) Vector() [3]float64 {
	return [3]float64{a.Parameters["x"], a.Parameters["y"], a.Parameters["z"]}
}

// ReadFile returns the actions of the trace at path, sorted by due time. An error names the file and the line.
func ReadFile(path string) ([]Action, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the player trace cannot be opened: %w", err)
	}
	defer file.Close()
	return Read(file, path)
}

// Read returns the actions of a trace from any source, as ReadFile does. Errors call the source by name.
func Read(source io.Reader, name string) ([]Action, error) {
	var actions []Action
	lines := bufio.NewScanner(source)
	lines.Buffer(nil, 1<<20)
	for number := 1; lines.Scan(); number++ {
		action, err := parse(lines.Bytes())
		if err == nil && len(actions) > 0 && action.DueNS < actions[len(actions)-1].DueNS {
			err = fmt.Errorf("due_ns %d comes before the line above it; sort the trace by due_ns", action.DueNS)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", name, number, err)
		}
		actions = append(actions, action)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", name, err)
	}
	if len(actions) == 0 {
		return nil, fmt.Errorf("%s holds no action; generate the trace again", name)
	}
	return actions, nil
}

func parse(line []byte) (Action, error) {
	var read struct {
		DueNS      *int64              `json:"due_ns"`
		Player     *string             `json:"player"`
		Kind       *Kind               `json:"action"`
		Parameters map[string]*float64 `json:"parameters"`
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&read); err != nil {
		return Action{}, fmt.Errorf("not a line of a player trace (%s)", strings.TrimPrefix(err.Error(), "json: "))
	}
	if decoder.More() {
		return Action{}, errors.New("more than one JSON value; write one action a line")
	}
	if read.DueNS == nil || read.Player == nil || read.Kind == nil || read.Parameters == nil {
		return Action{}, errors.New("due_ns, player, action and parameters must all be there")
	}
	action := Action{DueNS: *read.DueNS, Player: *read.Player, Kind: *read.Kind, Parameters: map[string]float64{}}
	for key, value := range read.Parameters {
		if value == nil {
			return Action{}, fmt.Errorf("parameter %s is null; give a number", key)
		}
		action.Parameters[key] = *value
	}
	return action, action.check()
}

func (a Action) check() error {
	if a.DueNS < 0 {
		return fmt.Errorf("due_ns %d is negative; due times count from the start of the trace", a.DueNS)
	}
	if !playerName.MatchString(a.Player) {
		return fmt.Errorf("player %q: a name must have 1 to 20 characters of a-z, A-Z, 0-9, _ and -", a.Player)
	}
	accepted, known := forms[a.Kind]
	if !known {
		return fmt.Errorf("unknown action %q; the known actions are join, walk, teleport, place, dig, ping, marker, burn, look, attack, npc, kill, leave", a.Kind)
	}
	found := make([]string, 0, len(a.Parameters))
	for key := range a.Parameters {
		found = append(found, key)
	}
	sort.Strings(found)
	if !slices.ContainsFunc(accepted, func(form []string) bool { return slices.Equal(form, found) }) {
		wanted := make([]string, len(accepted))
		for i, form := range accepted {
			wanted[i] = "{" + strings.Join(form, ", ") + "}"
		}
		return fmt.Errorf("%s takes the parameters %s, not {%s}", a.Kind, strings.Join(wanted, " or "), strings.Join(found, ", "))
	}
	return a.checkValues()
}

func (a Action) checkValues() error {
	switch a.Kind {
	case Walk:
		if a.Parameters["speed_nodes_per_s"] < 0 {
			return errors.New("walk: speed_nodes_per_s is negative; turn the direction round")
		}
		if a.Has("x") && a.Parameters["x"] == 0 && a.Parameters["z"] == 0 && a.Parameters["speed_nodes_per_s"] > 0 {
			return errors.New("walk: x and z are both 0, which is no direction")
		}
	case Marker, Burn, Attack, NPC, Kill:
		for name, value := range a.Parameters {
			if value < 0 || value != math.Trunc(value) {
				return fmt.Errorf("%s: %s = %g must be 0 or a positive whole number", a.Kind, name, value)
			}
		}
	case Teleport, Place, Dig, Look:
		for axis, value := range a.Parameters {
			if math.Abs(value) > MapLimit {
				return fmt.Errorf("%s: %s = %g lies outside the map (%d nodes each way)", a.Kind, axis, value, MapLimit)
			}
		}
	}
	return nil
}
