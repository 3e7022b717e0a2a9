package record

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

func TestEveryEventIsALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ticks.csv")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	before := Now()
	w.Tick(100, 250, 2, 77)
	w.Generated(300)
	w.Marker("read7", 400, 500)
	w.Tick(600, 650, 0, 77)
	w.Save(700, 800)
	w.Generated(900)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := "tickdisk_probe,2,monotonic,ns\nt,1,100,250,2,,77\ng,300,1\nm,read7,400,500\nt,2,600,650,0,,77\ns,700,800\ng,900,2\n"
	end := regexp.MustCompile(`^` + regexp.QuoteMeta(lines) + `e,2,\d+,2\n$`)
	if !end.Match(text) {
		t.Fatalf("the record is\n%s\nbut should be\n%se,2,(time),2", text, lines)
	}
	if after := Now(); after < before || after-before > int64(time.Minute) {
		t.Errorf("the clock went from %d to %d ns", before, after)
	}
}

func TestLinesAreFlushedBeforeTheEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ticks.csv")
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w.Save(1, 2)
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if text, _ := os.ReadFile(path); string(text) == "tickdisk_probe,2,monotonic,ns\ns,1,2\n" {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("after 5 s the record holds %q", text)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAFailedWriteIsTold(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("this machine has no /dev/full")
	}
	w, err := Create("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err == nil {
		t.Fatal("a record that could not be written was closed without an error")
	}
}
