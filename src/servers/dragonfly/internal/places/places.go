// Package places tells where players stand. A place is the free block above the ground, in which a player can put a block.
package places

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-gl/mathgl/mgl64"
)

const hoverBlocks = 2 // A player hovers so high that a block fits below it.

// Place is the position of a block.
type Place struct {
	X int `json:"x"`
	Y int `json:"y"`
	Z int `json:"z"`
}

// Feet returns where the feet of a player are that hovers above the place.
func (p Place) Feet() mgl64.Vec3 {
	return mgl64.Vec3{float64(p.X) + 0.5, float64(p.Y + hoverBlocks), float64(p.Z) + 0.5}
}

// Read reads a file with a place `x y z` on each line.
func Read(path string) ([]Place, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("the places cannot be read: %w", err)
	}
	defer file.Close()
	var all []Place
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		place, err := parse(lines.Text())
		if err != nil {
			return nil, fmt.Errorf("line %d of %s is not a place, which is three whole numbers: %q", len(all)+1, path, lines.Text())
		}
		all = append(all, place)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("the places in %s cannot be read: %w", path, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s holds no places, and without a place no player can join", path)
	}
	return all, nil
}

func parse(line string) (Place, error) {
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return Place{}, fmt.Errorf("%d fields", len(fields))
	}
	var numbers [3]int
	for i, field := range fields {
		var err error
		if numbers[i], err = strconv.Atoi(field); err != nil {
			return Place{}, err
		}
	}
	return Place{numbers[0], numbers[1], numbers[2]}, nil
}

var playerName = regexp.MustCompile(`^p(\d{1,9})$`)

// ForPlayer returns the place of a player, which is number N for the player pN.
func ForPlayer(name string, all []Place) (Place, error) {
	parts := playerName.FindStringSubmatch(name)
	if parts == nil {
		return Place{}, fmt.Errorf("players are named p000, p001 and so on, but this one is named %q", name)
	}
	number, _ := strconv.Atoi(parts[1])
	if number >= len(all) {
		return Place{}, fmt.Errorf("there is no place for player %s, because the number of places is only %d", name, len(all))
	}
	return all[number], nil
}
