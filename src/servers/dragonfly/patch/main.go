// Command patch copies Dragonfly's source into a folder, and changes two lines there. The tick loop calls a function around every tick,
// so that the server can time it, and the world's LevelDB gets options with every write, so that a write can wait for the disk.
//
// Dragonfly has no hook around a tick and no such option, and the go command refuses an overlay over the module cache. The folder that is
// named on the command line therefore gets the changed copy and a go.mod that uses it, and a build names that file with -modfile.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	dragonfly = "github.com/df-mc/dragonfly"
	hook      = `
// TickHook is called in place of each tick of the tick loop, and must run it. It may only be set before the first World is made.
var TickHook = func(tx *Tx, tick func(*Tx)) { tick(tx) }
`
	options = `
// WriteOptions are given to LevelDB with every write of a chunk. They may only be set before a world is opened.
var WriteOptions *opt.WriteOptions
`
)

// change is one line of a file of Dragonfly that becomes another one, and what is added at the end of the file.
type change struct{ file, line, becomes, added string }

var changes = []change{
	{
		"server/world/tick.go",
		"\t\t\t<-w.Exec(t.tick)\n",
		"\t\t\t<-w.Exec(func(tx *Tx) { TickHook(tx, t.tick) })\n",
		hook,
	},
	{
		"server/world/mcdb/db.go",
		"\treturn db.ldb.Write(batch, nil)\n",
		"\treturn db.ldb.Write(batch, WriteOptions)\n",
		"",
	},
	{"server/world/mcdb/conf.go", "", "", options},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./patch FOLDER, in the folder of go.mod")
		os.Exit(2)
	}
	if err := patch(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func patch(folder string) error {
	original, err := download()
	if err != nil {
		return err
	}
	copied := filepath.Join(folder, "source")
	if err := os.RemoveAll(copied); err != nil {
		return err
	}
	if err := os.CopyFS(copied, os.DirFS(original)); err != nil {
		return fmt.Errorf("Dragonfly's source in %s could not be copied: %w", original, err)
	}
	for _, each := range changes {
		path := filepath.Join(copied, each.file)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		changed, err := each.of(string(text))
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
			return err
		}
	}
	return writeModule(folder, copied)
}

// download returns the folder in the module cache that holds the version of Dragonfly that go.mod names.
func download() (string, error) {
	command := exec.Command("go", "mod", "download", "-json", dragonfly)
	command.Stderr = os.Stderr
	answer, err := command.Output()
	var module struct{ Dir, Error string }
	if parsed := json.Unmarshal(answer, &module); parsed != nil || module.Dir == "" {
		return "", fmt.Errorf("Dragonfly's source could not be downloaded, check the network: %w", errors.Join(err, errors.New(module.Error)))
	}
	return module.Dir, nil
}

// of returns the text of a file with the change. The line must be there exactly once, unless the change only adds to the file.
func (c change) of(text string) (string, error) {
	if found := strings.Count(text, c.line); c.line != "" && found != 1 {
		return "", fmt.Errorf("%s of Dragonfly has the line %q %d times instead of once; the patch must be adapted to this version of Dragonfly",
			c.file, strings.TrimSpace(c.line), found)
	}
	return strings.Replace(text, c.line, c.becomes, 1) + c.added, nil
}

// writeModule writes a go.mod like that of the current folder, which takes Dragonfly from the changed copy. The path is relative, so
// that the binary does not depend on where the project lies.
func writeModule(folder, copied string) error {
	here, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	there, err := filepath.Abs(copied)
	if err != nil {
		return err
	}
	path, err := filepath.Rel(here, there)
	if err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if name == "go.mod" {
			text = fmt.Appendf(text, "\nreplace %s => %s\n", dragonfly, filepath.ToSlash(path))
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
