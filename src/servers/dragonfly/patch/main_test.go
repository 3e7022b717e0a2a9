package main

import (
	"strings"
	"testing"
)

const loop = "\t\tselect {\n\t\tcase <-tc.C:\n\t\t\t<-w.Exec(t.tick)\n\t\tcase <-w.closing:\n"

func TestTheTickLoopCallsTheHook(t *testing.T) {
	changed, err := changes[0].of(loop)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(loop, "w.Exec(t.tick)", "w.Exec(func(tx *Tx) { TickHook(tx, t.tick) })", 1) + hook
	if changed != want {
		t.Fatalf("the changed source is\n%s\nbut should be\n%s", changed, want)
	}
}

func TestAWriteOfAChunkHasOptions(t *testing.T) {
	changed, err := changes[1].of("\t}\n\treturn db.ldb.Write(batch, nil)\n}\n")
	if want := "\t}\n\treturn db.ldb.Write(batch, WriteOptions)\n}\n"; err != nil || changed != want {
		t.Errorf("the changed source is %q with the error %v, but should be %q", changed, err, want)
	}
	if changed, err = changes[2].of("package mcdb\n"); err != nil || changed != "package mcdb\n"+options {
		t.Errorf("the changed source is %q with the error %v", changed, err)
	}
}

func TestAnotherSourceIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"missing": strings.Replace(loop, "t.tick", "t.step", 1),
		"twice":   loop + loop,
	} {
		changed, err := changes[0].of(text)
		if err == nil || changed != "" || !strings.Contains(err.Error(), "<-w.Exec(t.tick)") {
			t.Errorf("%s: the source is %q and the error %v, but an error that names the line is expected", name, changed, err)
		}
	}
}
