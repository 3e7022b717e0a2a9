package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"tickdisk/dragonfly/internal/generate"
	"tickdisk/dragonfly/internal/serve"
)

func runGenerate(arguments []string) error {
	flags := flag.NewFlagSet("generate", flag.ContinueOnError)
	folder := flags.String("world", "", "folder of the new world")
	seed := flags.Int64("seed", 0, "number from which all terrain follows")
	edge := flags.Int("edge-chunks", 0, "edge of the world in squares of 5x5 chunks")
	output := flags.String("output", "", "JSON file to write the places to")
	if err := parse(flags, arguments, "world", "seed", "edge-chunks", "output"); err != nil {
		return err
	}
	result, err := generate.World(*folder, *seed, *edge)
	if err != nil {
		return err
	}
	return result.Write(*output)
}

func runServe(arguments []string) error {
	var options serve.Options
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	flags.StringVar(&options.Address, "address", "", "address to listen on, such as 127.0.0.1:19132")
	flags.StringVar(&options.World, "world", "", "folder of the world")
	flags.StringVar(&options.Places, "places", "", "file with the place of player pN in line N+1, as `x y z`")
	flags.StringVar(&options.Record, "record", "", "file to record the ticks in")
	flags.StringVar(&options.Log, "log", "", "file of the server's log (default standard error)")
	periodS := flags.Float64("save-period-s", 0, "seconds from save to save")
	flags.IntVar(&options.RadiusChunks, "radius-chunks", 0, "Dragonfly's chunk radius; 3 gives a player 5x5 chunks without the corners")
	flags.BoolVar(&options.Sync, "sync", false, "let every write of a chunk wait until it is on the disk")
	if err := parse(flags, arguments, "address", "world", "places", "record", "save-period-s", "radius-chunks"); err != nil {
		return err
	}
	options.SavePeriod = time.Duration(*periodS * float64(time.Second))
	if options.SavePeriod <= 0 || options.RadiusChunks <= 0 {
		return fmt.Errorf("--save-period-s is %g and --radius-chunks is %d, but both must be above 0: %w",
			*periodS, options.RadiusChunks, errUsage)
	}
	interrupted, release := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer release()
	return serve.Run(interrupted, options, func() { fmt.Println("ready") })
}

// parse reads the flags, of which some must be given.
func parse(flags *flag.FlagSet, arguments []string, required ...string) error {
	flags.SetOutput(os.Stderr)
	if err := flags.Parse(arguments); err != nil {
		return errors.Join(err, errUsage)
	}
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for _, name := range required {
		if !given[name] {
			return fmt.Errorf("--%s is missing: %w", name, errUsage)
		}
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%q is not a flag: %w", flags.Arg(0), errUsage)
	}
	return nil
}
