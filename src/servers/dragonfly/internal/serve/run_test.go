//go:build tickhook

package serve

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tickdisk/dragonfly/internal/generate"
)

func madeOptions(t *testing.T) Options {
	t.Helper()
	folder := t.TempDir()
	if _, err := generate.World(folder, 1, 1); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "places.txt")
	if err := os.WriteFile(path, []byte("8 70 8\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return Options{
		Address: "127.0.0.1:0", World: folder, Places: path, Record: filepath.Join(folder, "record"), Log: filepath.Join(folder, "log"),
		SavePeriod: 60 * time.Millisecond, RadiusChunks: 3,
	}
}

func TestALifeRecordsItsTicksSavesAndEnd(t *testing.T) {
	options := madeOptions(t)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if err := Run(ctx, options, func() { time.AfterFunc(300*time.Millisecond, stop) }); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(options.Record)
	if err != nil {
		t.Fatal(err)
	}
	form := regexp.MustCompile(`^tickdisk_probe,2,monotonic,ns\n((t,\d+,\d+,\d+,0,,\d+|s,\d+,\d+)\n){3,}e,\d+,\d+,0\n$`)
	if !form.Match(text) || !strings.Contains(string(text), "\nt,1,") || !strings.Contains(string(text), "\ns,") {
		t.Fatalf("the record is\n%s", text)
	}
	threads := map[string]bool{}
	for _, line := range regexp.MustCompile(`(?m)^t,.*,(\d+)$`).FindAllStringSubmatch(string(text), -1) {
		threads[line[1]] = true
	}
	if len(threads) != 1 {
		t.Errorf("the ticks ran on %d threads", len(threads))
	}
	log, err := os.ReadFile(options.Log)
	if err != nil || strings.Contains(string(log), "level=ERROR") {
		t.Errorf("the error is %v and the log is\n%s", err, log)
	}
}

func TestAWorldThatIsServedCannotBeServedAgain(t *testing.T) {
	options := madeOptions(t)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	err := Run(ctx, options, func() {
		defer stop()
		second := options
		second.Record += "2"
		if err := Run(ctx, second, func() {}); !errors.As(err, new(NotStarted)) || !strings.Contains(err.Error(), "no other server") {
			t.Errorf("the second server gave %v", err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}
