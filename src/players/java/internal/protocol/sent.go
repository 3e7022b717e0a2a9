package protocol

import "crypto/md5"

// Values of fields.
const (
	intentLogin    = 2
	mainHand       = 0
	rightHanded    = 1
	faceUp         = 1
	startedDigging = 0
)

// OfflineUUID returns the identity of a player whose account is not checked.
func OfflineUUID(name string) UUID {
	identity := UUID(md5.Sum([]byte("OfflinePlayer:" + name)))
	identity[6] = identity[6]&0x0f | 3<<4
	identity[8] = identity[8]&0x3f | 0x80
	return identity
}

// Handshake begins a connection.
func Handshake(host string, port uint16) []byte {
	return newMessage(toHandshake).varInt(Version).text(host).fixed(port).varInt(intentLogin)
}

// LoginStart says who the player is.
func LoginStart(name string) []byte {
	return newMessage(toLoginStart).text(name).fixed(OfflineUUID(name))
}

// LoginAcknowledged answers LoginSuccess.
func LoginAcknowledged() []byte { return newMessage(toLoginAcknowledged) }

// ClientInformation asks for chunks within a distance. The rest is about chat and looks.
func ClientInformation(viewDistance int) []byte {
	const chatIsShown, allSkinParts, allParticles = 0, 0x7f, 0
	return newMessage(toClientInformation).text("en_us").fixed(int8(viewDistance)).varInt(chatIsShown).fixed(true, byte(allSkinParts)).
		varInt(rightHanded).fixed(false, true).varInt(allParticles)
}

// Echo answers a packet to which the answer is its own content. To the offer of data packs, this means that the player has them all.
func Echo(packet Packet) (answer []byte, known bool) {
	number, known := echoes[packet.Number]
	return append(newMessage(number), packet.Content...), known
}

// ChunkBatchReceived answers ChunkBatchFinished, and asks for so many chunks a tick.
func ChunkBatchReceived(chunksPerTick float32) []byte {
	return newMessage(toChunkBatchReceived).fixed(chunksPerTick)
}

// ConfirmTeleport answers PlayerPosition.
func ConfirmTeleport(number int32) []byte { return newMessage(toConfirmTeleport).varInt(number) }

// Position says where the player's feet are, in the air.
func Position(feet [3]float64) []byte {
	const inTheAir = 0
	return newMessage(toPosition).fixed(feet, byte(inTheAir))
}

// TickEnd ends what the player does in a tick.
func TickEnd() []byte { return newMessage(toClientTickEnd) }

// Command is a command, without a slash.
func Command(text string) []byte { return newMessage(toChatCommand).text(text) }

// UseItemOn clicks on the upper face of a block. The server repeats the sequence number, which players do not need.
func UseItemOn(block [3]int, sequence int32) []byte {
	const insideBlock, atBorder = false, false
	return newMessage(toUseItemOn).varInt(mainHand).fixed(pack(block)).varInt(faceUp).
		fixed([3]float32{0.5, 1, 0.5}, insideBlock, atBorder).varInt(sequence)
}

// StartDigging breaks a block, which takes no time in creative mode.
func StartDigging(block [3]int, sequence int32) []byte {
	return newMessage(toPlayerAction).varInt(startedDigging).fixed(pack(block), byte(faceUp)).varInt(sequence)
}

// pack puts a block's position into one number: x and z with 26 bits each, and y with 12.
func pack(block [3]int) int64 {
	return int64(block[0])<<38 | int64(block[2]&(1<<26-1))<<12 | int64(block[1]&(1<<12-1))
}
