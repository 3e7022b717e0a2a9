package protocol

// UUID tells players apart.
type UUID [16]byte

// Teleport reads PlayerPosition: the number with which it is confirmed, and where the server has put the player's feet.
func (f *Fields) Teleport() (number int32, feet [3]float64) {
	number = f.varInt()
	f.fixed(&feet)
	return number, feet
}

// Block reads BlockUpdate.
func (f *Fields) Block() (position [3]int, state int32) {
	var packed int64
	f.fixed(&packed)
	return [3]int{int(packed >> 38), int(packed << 52 >> 52), int(packed << 26 >> 38)}, f.varInt()
}

// Chunk reads the coordinates x and z of LevelChunk.
func (f *Fields) Chunk() (chunk [2]int32) {
	f.fixed(&chunk)
	return chunk
}

// ForgottenChunk reads ForgetLevelChunk, where z comes before x.
func (f *Fields) ForgottenChunk() (chunk [2]int32) {
	f.fixed(&chunk[1], &chunk[0])
	return chunk
}

// Center reads SetChunkCenter.
func (f *Fields) Center() [2]int32 { return [2]int32{f.varInt(), f.varInt()} }

// Removed reads the players of PlayerInfoRemove.
func (f *Fields) Removed() []UUID {
	var players []UUID
	for count := f.varInt(); count > 0 && !f.Short; count-- {
		var player UUID
		f.fixed(&player)
		players = append(players, player)
	}
	return players
}

// These bits say which fields PlayerInfoUpdate has about players. The fields of an entry have this order.
const (
	addPlayer = 1 << iota
	initializeChat
	updateGameMode
	updateListed
	updateLatency
	updateDisplayName
	updateListOrder
	updateHat
)

// Added reads PlayerInfoUpdate, and returns the names of new players.
func (f *Fields) Added() map[UUID]string {
	var said byte
	f.fixed(&said)
	names := map[UUID]string{}
	for count := f.varInt(); count > 0 && !f.Short; count-- {
		var player UUID
		f.fixed(&player)
		if said&addPlayer != 0 {
			names[player] = f.text()
			f.skipProperties()
		}
		if said&initializeChat != 0 && f.flag() {
			f.take(16 + 8) // the identity of the chat keys and their end
			f.take(int(f.varInt()))
			f.take(int(f.varInt()))
		}
		for _, one := range []byte{updateGameMode, updateListed, updateLatency} {
			if said&one != 0 {
				f.varInt()
			}
		}
		if said&updateDisplayName != 0 && f.flag() {
			f.Text()
		}
		for _, one := range []byte{updateListOrder, updateHat} {
			if said&one != 0 {
				f.varInt()
			}
		}
	}
	return names
}

func (f *Fields) skipProperties() {
	for count := f.varInt(); count > 0 && !f.Short; count-- {
		f.text()
		f.text()
		if f.flag() {
			f.text()
		}
	}
}
