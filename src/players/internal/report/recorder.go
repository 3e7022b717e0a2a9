// Package report writes the results of the clients. They are a record for every line of the trace, and a status of the client
// process itself.
package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"sync"

	"tickdisk/players/internal/trace"
)

// Outcome says how an action ended.
type Outcome string

// The three outcomes of an action.
const (
	Completed Outcome = "completed"
	TimedOut  Outcome = "timed_out"
	Failed    Outcome = "failed"
)

// Seen says which block is at a position at which a player has looked.
type Seen string

// Placed is a block of the kind that players place. Other is any other block but air. Refused means that the server has rejected the
// look at this position, for example because it has no terrain there, or cannot read it.
const (
	Placed  Seen = "placed"
	Air     Seen = "air"
	Other   Seen = "other"
	Refused Seen = "refused"
)

// Record is one line of actions.jsonl. Times are in ns of CLOCK_MONOTONIC. A time is nil if its event did not happen. X, Y and Z are
// the position of the block that is placed, dug or looked at, and nil for other actions. Seen is nil unless the action is a look that
// the server answered.
type Record struct {
	Player      string     `json:"player"`
	Kind        trace.Kind `json:"action"`
	DueNS       int64      `json:"due_ns"`
	IssuedNS    *int64     `json:"issued_ns"`
	CompletedNS *int64     `json:"completed_ns"`
	Outcome     Outcome    `json:"outcome"`
	Detail      string     `json:"detail"`
	X           *int       `json:"x"`
	Y           *int       `json:"y"`
	Z           *int       `json:"z"`
	Seen        *Seen      `json:"seen"`
}

// KindCount counts the records of one kind of action.
type KindCount struct {
	Offered   int `json:"offered"`
	Completed int `json:"completed"`
	TimedOut  int `json:"timed_out"`
	Failed    int `json:"failed"`
}

// Recorder writes records to PATH.partial. Close gives the file its final name. A Recorder is safe for concurrent use.
type Recorder struct {
	mutex  sync.Mutex
	path   string
	file   *os.File
	buffer *bufio.Writer
	counts map[trace.Kind]*KindCount
	steps  []step // +1 for an action that falls due, and -1 for an action that is issued or given up
	err    error
}

type step struct {
	atNS   int64
	change int
}

// NewRecorder creates PATH.partial.
func NewRecorder(path string) (*Recorder, error) {
	file, err := os.Create(path + ".partial")
	if err != nil {
		return nil, fmt.Errorf("the action records cannot be written: %w", err)
	}
	return &Recorder{path: path, file: file, buffer: bufio.NewWriterSize(file, 1<<16), counts: map[trace.Kind]*KindCount{}}, nil
}

// Write appends a record. endedNS is the time at which the action ended, whatever its outcome.
func (r *Recorder) Write(record Record, endedNS int64) {
	line, err := json.Marshal(record)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err == nil {
		_, err = r.buffer.Write(append(line, '\n'))
	}
	if r.err == nil {
		r.err = err
	}
	count := r.counts[record.Kind]
	if count == nil {
		count = &KindCount{}
		r.counts[record.Kind] = count
	}
	count.Offered++
	switch record.Outcome {
	case Completed:
		count.Completed++
	case TimedOut:
		count.TimedOut++
	case Failed:
		count.Failed++
	}
	taken := endedNS
	if record.IssuedNS != nil {
		taken = *record.IssuedNS
	}
	if taken > record.DueNS {
		r.steps = append(r.steps, step{record.DueNS, 1}, step{taken, -1})
	}
}

// Counts returns the number of records of each kind of action, by outcome.
func (r *Recorder) Counts() map[trace.Kind]*KindCount {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.counts
}

// BacklogMax returns the largest number of actions, over all players, that were due and not yet issued at the same moment.
func (r *Recorder) BacklogMax() int {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	sort.Slice(r.steps, func(i, j int) bool {
		if r.steps[i].atNS != r.steps[j].atNS {
			return r.steps[i].atNS < r.steps[j].atNS
		}
		return r.steps[i].change < r.steps[j].change
	})
	backlog, most := 0, 0
	for _, s := range r.steps {
		backlog += s.change
		most = max(most, backlog)
	}
	return most
}

// Close flushes the records and gives the file its final name.
func (r *Recorder) Close() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	err := r.err
	for _, finish := range []func() error{r.buffer.Flush, r.file.Sync, r.file.Close} {
		if e := finish(); err == nil {
			err = e
		}
	}
	if err == nil {
		err = os.Rename(r.path+".partial", r.path)
	}
	if err != nil {
		return fmt.Errorf("the action records cannot be written to %s: %w", r.path, err)
	}
	return nil
}
