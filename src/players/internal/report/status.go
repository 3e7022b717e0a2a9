package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"syscall"

	"tickdisk/players/internal/trace"
)

// With fewer samples, a 99th percentile cannot be estimated, and the maximum decides about saturation.
const lagSamplesForP99 = 100

// Lag says how late the client's own timers fired. P99MS is nil if there are too few samples to estimate it.
type Lag struct {
	Samples int      `json:"samples"`
	P50MS   *float64 `json:"p50_ms"`
	P99MS   *float64 `json:"p99_ms"`
	MaxMS   *float64 `json:"max_ms"`
}

// LagSample is one timer of the client's own schedule, with the time at which it was to fire (CLOCK_MONOTONIC) and its lateness.
type LagSample struct {
	ScheduledNS int64
	LagNS       int64
}

// LagSecond counts the samples whose timers were to fire in one second of the trace, and those that lagged by more than the limit.
type LagSecond struct {
	Second  int64 `json:"second"` // counted from the trace's zero
	Samples int   `json:"samples"`
	Over    int   `json:"over"`
}

// Network counts the traffic between the players and the server.
type Network struct {
	PacketsSent      int64 `json:"packets_sent"`
	PacketsReceived  int64 `json:"packets_received"`
	BytesSent        int64 `json:"bytes_sent"`
	BytesReceived    int64 `json:"bytes_received"`
	PacketsDropped   int64 `json:"packets_dropped"` // by the kernel, because a socket's receive buffer was full
	Retransmissions  int64 `json:"retransmissions"`
	Duplicates       int64 `json:"duplicates"`
	BlocksReceived   int64 `json:"blocks_received"`
	ConnectionErrors int64 `json:"connection_errors"`
}

// Add adds the counts of another Network.
func (n *Network) Add(other Network) {
	n.PacketsSent += other.PacketsSent
	n.PacketsReceived += other.PacketsReceived
	n.BytesSent += other.BytesSent
	n.BytesReceived += other.BytesReceived
	n.PacketsDropped += other.PacketsDropped
	n.Retransmissions += other.Retransmissions
	n.Duplicates += other.Duplicates
	n.BlocksReceived += other.BlocksReceived
	n.ConnectionErrors += other.ConnectionErrors
}

// Status is the content of status.json. It says what the client process achieved, and whether it was itself the bottleneck.
type Status struct {
	Address      string                    `json:"address"`
	StartNS      int64                     `json:"start_ns"`
	EndNS        int64                     `json:"end_ns"`
	Interrupted  bool                      `json:"interrupted"`
	Players      int                       `json:"players"`
	Completion   string                    `json:"completion"`
	Actions      map[trace.Kind]*KindCount `json:"actions"`
	BacklogMax   int                       `json:"backlog_max"`
	ScheduleLag  Lag                       `json:"schedule_lag"`
	LagSeconds   []LagSecond               `json:"lag_seconds"`
	MaxLagMS     float64                   `json:"max_lag_ms"`
	Saturated    bool                      `json:"saturated"`
	CPUSeconds   float64                   `json:"cpu_s"`
	Network      Network                   `json:"network"`
	FirstRefusal string                    `json:"first_refusal,omitempty"`
}

// SummariseLag returns quantiles (nearest rank) of the lags, and whether they show that the process lacked CPU time.
func SummariseLag(samples []LagSample, maxLagMS float64) (lag Lag, saturated bool) {
	lag.Samples = len(samples)
	if len(samples) == 0 {
		return lag, false
	}
	sorted := make([]int64, len(samples))
	for i, sample := range samples {
		sorted[i] = sample.LagNS
	}
	slices.Sort(sorted)
	at := func(share float64) *float64 {
		value := float64(sorted[int(math.Ceil(share*float64(len(sorted))))-1]) / 1e6
		return &value
	}
	lag.P50MS, lag.MaxMS = at(0.5), at(1)
	decisive := lag.MaxMS
	if len(sorted) >= lagSamplesForP99 {
		lag.P99MS = at(0.99)
		decisive = lag.P99MS
	}
	return lag, *decisive > maxLagMS
}

// CountLagSeconds counts the samples by second of the trace that begins at startNS, in order. A second without a sample is left
// out.
func CountLagSeconds(samples []LagSample, startNS int64, maxLagMS float64) []LagSecond {
	bySecond := map[int64]*LagSecond{}
	for _, sample := range samples {
		second := int64(math.Floor(float64(sample.ScheduledNS-startNS) / 1e9))
		count := bySecond[second]
		if count == nil {
			count = &LagSecond{Second: second}
			bySecond[second] = count
		}
		count.Samples++
		if float64(sample.LagNS)/1e6 > maxLagMS {
			count.Over++
		}
	}
	counts := make([]LagSecond, 0, len(bySecond))
	for _, second := range slices.Sorted(maps.Keys(bySecond)) {
		counts = append(counts, *bySecond[second])
	}
	return counts
}

// CPUSeconds returns the CPU time that this process has used, in user and system mode.
func CPUSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return math.NaN()
	}
	return float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// WriteStatus writes the status to path. The file appears under its name only when it is whole.
func WriteStatus(path string, status Status) error {
	text, err := json.MarshalIndent(status, "", "  ")
	if err == nil {
		err = os.WriteFile(path+".partial", append(text, '\n'), 0o644)
	}
	if err == nil {
		err = os.Rename(path+".partial", path)
	}
	if err != nil {
		return fmt.Errorf("the status cannot be written to %s: %w", path, err)
	}
	return nil
}
