// Package command is the command line of the clients, for any set of drivers.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"tickdisk/players/internal/monotonic"
	"tickdisk/players/internal/play"
	"tickdisk/players/internal/report"
	"tickdisk/players/internal/trace"
)

// Exit codes. A run in which actions failed also ends with 0, because the records say which actions failed.
const (
	exitFailure  = 1 // The records or the status could not be written.
	exitUsage    = 2 // The command line or the trace is wrong, and nothing was sent.
	exitNoPlayer = 3 // No player could join.
)

const mostProcessors = 2 // The clients share the machine with other programs, and need little.

type options struct {
	driver   play.Driver
	config   play.Config
	trace    string
	actions  string
	status   string
	maxLagMS float64
}

// Run plays a trace as the arguments say, with the driver that the first argument names. It returns the exit code.
func Run(program string, arguments []string, drivers ...play.Driver) int {
	complain := func(err error, code int) int {
		fmt.Fprintf(os.Stderr, "%s: %v\n", program, err)
		return code
	}
	chosen, err := parse(program, arguments, drivers)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	var actions []trace.Action
	if err == nil {
		actions, err = trace.ReadFile(chosen.trace)
	}
	if err == nil {
		err = play.CheckKinds(chosen.driver, actions, chosen.trace)
	}
	if err != nil {
		return complain(err, exitUsage)
	}
	records, err := report.NewRecorder(chosen.actions)
	if err != nil {
		return complain(err, exitFailure)
	}
	runtime.GOMAXPROCS(min(mostProcessors, runtime.GOMAXPROCS(0)))
	debug.SetGCPercent(400) // The heap is small. Rare collections disturb the schedule less.
	interrupted, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer release()

	result := play.Run(interrupted, chosen.driver, chosen.config, actions, records)

	status := report.Status{
		Address: chosen.config.Address, StartNS: chosen.config.StartNS, EndNS: monotonic.Now(), Interrupted: interrupted.Err() != nil,
		Players: result.Players, Completion: chosen.driver.Completion(), Actions: records.Counts(), BacklogMax: records.BacklogMax(),
		MaxLagMS: chosen.maxLagMS, CPUSeconds: report.CPUSeconds(), Network: result.Network, FirstRefusal: result.FirstRefusal,
	}
	status.ScheduleLag, status.Saturated = report.SummariseLag(result.Lags, chosen.maxLagMS)
	status.LagSeconds = report.CountLagSeconds(result.Lags, chosen.config.StartNS, chosen.maxLagMS)
	if err := errors.Join(records.Close(), report.WriteStatus(chosen.status, status)); err != nil {
		return complain(err, exitFailure)
	}
	if joins := status.Actions[trace.Join]; joins != nil && joins.Completed == 0 && !status.Interrupted {
		return complain(fmt.Errorf("no player could join %s; the records in %s say why", status.Address, chosen.actions), exitNoPlayer)
	}
	return 0
}

func parse(program string, arguments []string, drivers []play.Driver) (options, error) {
	chosen := options{driver: choose(arguments, drivers)}
	if chosen.driver == nil {
		return options{}, fmt.Errorf("usage: %s %s --address HOST:PORT --trace FILE --start-ns NS --actions FILE --status FILE", program,
			names(drivers))
	}
	var timeoutS float64
	flags := flag.NewFlagSet(program+" "+arguments[0], flag.ContinueOnError)
	flags.StringVar(&chosen.config.Address, "address", "", "`HOST:PORT` of the server")
	flags.StringVar(&chosen.trace, "trace", "", "player trace, JSON lines")
	flags.Int64Var(&chosen.config.StartNS, "start-ns", 0, "CLOCK_MONOTONIC at the trace's zero, in ns")
	flags.StringVar(&chosen.actions, "actions", "", "where to write a record for every line of the trace")
	flags.StringVar(&chosen.status, "status", "", "where to write the status of the clients")
	flags.Float64Var(&timeoutS, "timeout-s", 20, "an action that takes longer than this has timed out")
	flags.Float64Var(&chosen.maxLagMS, "max-lag-ms", 20, "if the p99 lag behind their own schedule is higher, the clients were short of CPU")
	chosen.driver.Flags(flags)
	if err := flags.Parse(arguments[1:]); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unknown argument %q; every option begins with --", flags.Arg(0))
	}
	for name, value := range map[string]string{
		"address": chosen.config.Address, "trace": chosen.trace, "actions": chosen.actions, "status": chosen.status,
	} {
		if value == "" {
			return options{}, fmt.Errorf("--%s is missing", name)
		}
	}
	if chosen.config.StartNS <= 0 || timeoutS <= 0 || chosen.maxLagMS <= 0 {
		return options{}, errors.New("--start-ns, --timeout-s and --max-lag-ms must be given and positive")
	}
	chosen.config.Timeout = time.Duration(timeoutS * float64(time.Second))
	return chosen, chosen.driver.Check()
}

func choose(arguments []string, drivers []play.Driver) play.Driver {
	for _, driver := range drivers {
		if len(arguments) > 0 && arguments[0] == driver.Traits().Name {
			return driver
		}
	}
	return nil
}

func names(drivers []play.Driver) string {
	var all []string
	for _, driver := range drivers {
		all = append(all, driver.Traits().Name)
	}
	return strings.Join(all, "|")
}
