package report

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tickdisk/players/internal/trace"
)

func at(ns int64) *int64 { return &ns }

func TestRecorder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "actions.jsonl")
	r, err := NewRecorder(path)
	if err != nil {
		t.Fatal(err)
	}
	// The actions are due at 10, 11 and 12, and are issued at 10, 20 and 30. A fourth is due at 15 and given up at 18. From 15 to
	// 18, three actions are due and not issued.
	x, y, z, seen := 1, -2, 3, Air
	r.Write(Record{Player: "p0", Kind: trace.Ping, DueNS: 10, IssuedNS: at(10), CompletedNS: at(20), Outcome: Completed}, 20)
	r.Write(Record{Player: "p1", Kind: trace.Ping, DueNS: 15, Outcome: Failed, Detail: "not issued"}, 18)
	r.Write(Record{Player: "p0", Kind: trace.Ping, DueNS: 11, IssuedNS: at(20), CompletedNS: at(30), Outcome: Completed}, 30)
	r.Write(Record{Player: "p0", Kind: trace.Look, DueNS: 12, IssuedNS: at(30), CompletedNS: at(50), Outcome: Completed, Detail: "void",
		X: &x, Y: &y, Z: &z, Seen: &seen}, 50)
	if got := r.BacklogMax(); got != 3 {
		t.Errorf("backlog %d, wanted 3", got)
	}
	if got := *r.Counts()[trace.Ping]; got != (KindCount{Offered: 3, Completed: 2, Failed: 1}) {
		t.Errorf("pings counted as %+v", got)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("the file has its name before it is whole")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	want := []string{
		`{"player":"p1","action":"ping","due_ns":15,"issued_ns":null,"completed_ns":null,"outcome":"failed","detail":"not issued",` +
			`"x":null,"y":null,"z":null,"seen":null}`,
		`{"player":"p0","action":"look","due_ns":12,"issued_ns":30,"completed_ns":50,"outcome":"completed","detail":"void",` +
			`"x":1,"y":-2,"z":3,"seen":"air"}`,
	}
	if len(lines) != 4 || lines[1] != want[0] || lines[3] != want[1] {
		t.Errorf("records are %q", lines)
	}
}

func TestSummariseLag(t *testing.T) {
	hundred := make([]LagSample, 100)
	for i := range hundred {
		hundred[i].LagNS = int64(100-i) * 1e6 // 1 to 100 ms
	}
	cases := map[string]struct {
		lags      []LagSample
		limit     float64
		p50, p99  float64 // 0 if it cannot be estimated
		saturated bool
	}{
		"none":                     {nil, 20, 0, 0, false},
		"few, judged by the worst": {[]LagSample{{LagNS: 1e6}, {LagNS: 2e6}, {LagNS: 21e6}}, 20, 2, 0, true},
		"p99 above the limit":      {hundred, 98, 50, 99, true},
		"p99 at the limit":         {hundred, 99, 50, 99, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			lag, saturated := SummariseLag(c.lags, c.limit)
			value := func(p *float64) float64 {
				if p == nil {
					return 0
				}
				return *p
			}
			if value(lag.P50MS) != c.p50 || value(lag.P99MS) != c.p99 || saturated != c.saturated || lag.Samples != len(c.lags) {
				t.Errorf("p50 %g, p99 %g, saturated %v of %d", value(lag.P50MS), value(lag.P99MS), saturated, lag.Samples)
			}
		})
	}
}

func TestCountLagSeconds(t *testing.T) {
	const start, second = int64(7_500_000_000), int64(1_000_000_000)
	samples := []LagSample{
		{start + 2*second, 21e6}, {start + 3*second - 1, 20e6}, // Both are in second 2. The first exceeds the limit, and the second equals it.
		{start, 1e6}, {start + second - 1, 3e9}, // A sample counts in the second in which its timer was to fire.
		{start - 1, 0},
	}
	got := CountLagSeconds(samples, start, 20)
	want := []LagSecond{{-1, 1, 0}, {0, 2, 1}, {2, 2, 1}}
	if !slices.Equal(got, want) {
		t.Errorf("seconds are %+v, wanted %+v", got, want)
	}
	if none := CountLagSeconds(nil, start, 20); none == nil || len(none) != 0 {
		t.Errorf("without a sample there are %+v", none)
	}
}
