package main

import (
	"strings"
	"testing"
)

const loop = "\t\tselect {\n\t\tcase <-tc.C:\n\t\t\t<-w.Exec(t.tick)\n\t\tcase <-w.closing:\n"

func TestTheTickLoopCallsTheHook(t *testing.T) {
	changed, err := withHook(loop)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(loop, "w.Exec(t.tick)", "w.Exec(func(tx *Tx) { TickHook(tx, t.tick) })", 1) + hook
	if changed != want {
		t.Fatalf("the changed source is\n%s\nbut should be\n%s", changed, want)
	}
}

func TestAnotherTickLoopIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"missing": strings.Replace(loop, "t.tick", "t.step", 1),
		"twice":   loop + loop,
	} {
		changed, err := withHook(text)
		if err == nil || changed != "" || !strings.Contains(err.Error(), "<-w.Exec(t.tick)") {
			t.Errorf("%s: the source is %q and the error %v, but an error that names the line is expected", name, changed, err)
		}
	}
}
