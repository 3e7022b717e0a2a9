package command

import (
	"strings"
	"testing"

	"tickdisk/players/internal/luanti"
	"tickdisk/players/internal/play"
)

var needed = []string{"luanti", "--address=A:1", "--trace=T", "--actions=R", "--status=S", "--start-ns=5"}

func TestParse(t *testing.T) {
	drivers := []play.Driver{&luanti.Driver{}}
	chosen, err := parse("players", append(needed, "--timeout-s=0.5", "--radius-blocks=2", "--wanted-range-blocks=3"), drivers)
	if err != nil || chosen.config.Address != "A:1" || chosen.config.Timeout.Milliseconds() != 500 || chosen.maxLagMS != 20 {
		t.Errorf("the arguments were read as %+v (%v)", chosen, err)
	}
	cases := map[string]struct {
		arguments []string
		says      string
	}{
		"nothing":             {nil, "usage: players luanti --address HOST:PORT"},
		"an unknown driver":   {[]string{"chess"}, "usage: players luanti"},
		"a missing file":      {needed[:4], "--status is missing"},
		"a missing time":      {needed[:5], "--start-ns, --timeout-s and --max-lag-ms must be given and positive"},
		"no option":           {append(needed, "more"), `unknown argument "more"`},
		"the driver's option": {append(needed, "--radius-blocks=9"), "the radius must be 0 to 3 blocks"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := parse("players", c.arguments, drivers); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the error is %v, wanted one with %q", err, c.says)
			}
		})
	}
}

func TestNothingIsSentForAWrongTrace(t *testing.T) {
	if code := Run("players", append(needed, "--trace="+t.TempDir()+"/none"), &luanti.Driver{}); code != exitUsage {
		t.Errorf("the exit code is %d, wanted %d", code, exitUsage)
	}
}
