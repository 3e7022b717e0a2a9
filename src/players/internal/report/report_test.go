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
	r.Write(Record{"p0", trace.Ping, 10, at(10), at(20), Completed, ""}, 20)
	r.Write(Record{"p1", trace.Ping, 15, nil, nil, Failed, "not issued"}, 18)
	r.Write(Record{"p0", trace.Ping, 11, at(20), at(30), Completed, ""}, 30)
	r.Write(Record{"p0", trace.Dig, 12, at(30), nil, TimedOut, ""}, 50)
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
	want := `{"player":"p1","action":"ping","due_ns":15,"issued_ns":null,"completed_ns":null,"outcome":"failed","detail":"not issued"}`
	if len(lines) != 4 || lines[1] != want {
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
