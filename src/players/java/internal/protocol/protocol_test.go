package protocol

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"
	"testing/iotest"
)

// The expected bytes are the samples of the protocol's documentation.
func TestVarInts(t *testing.T) {
	samples := map[int32]string{
		0: "00", 127: "7f", 128: "8001", 25565: "ddc701", 2097151: "ffff7f", 2147483647: "ffffffff07", -1: "ffffffff0f",
		-2147483648: "8080808008",
	}
	for value, want := range samples {
		written := message(nil).varInt(value)
		if got := fmt.Sprintf("%x", []byte(written)); got != want {
			t.Errorf("%d is written as %s, wanted %s", value, got, want)
		}
		if read := (&Fields{data: written}); read.varInt() != value || read.Short || len(read.data) > 0 {
			t.Errorf("%s is not read as %d", want, value)
		}
	}
	for _, cut := range [][]byte{nil, {0x80}} {
		if fields := (&Fields{data: cut}); fields.varInt() != 0 || !fields.Short {
			t.Errorf("%x is read as a whole number", cut)
		}
	}
}

// The number is the sample of the protocol's documentation.
func TestPositionsOfBlocks(t *testing.T) {
	const packed = 0b0100011000000111011000110010110000010101101101001000001100111111
	block := [3]int{18357644, 831, -20882616}
	if got := pack(block); got != packed {
		t.Errorf("%v is packed as %b", block, got)
	}
	for _, block := range [][3]int{block, {-1, -64, 2}, {88, 70, -88}} {
		packet := Packet{Content: message(nil).fixed(pack(block)).varInt(5)}
		if got, state := packet.Fields().Block(); got != block || state != 5 {
			t.Errorf("%v is read as %v, with state %d", block, got, state)
		}
	}
}

// The identity of this name is widely known.
func TestOfflineUUID(t *testing.T) {
	if got := fmt.Sprintf("%x", OfflineUUID("Notch")); got != "b50ad385829d3141a2167e7d7539ba7f" {
		t.Errorf("the identity is %s", got)
	}
}

func TestPacketsInFrames(t *testing.T) {
	chunk := newMessage(uint64(LevelChunk&0xff)).fixed([2]int32{-3, 7}, [1 << 15]byte{})
	var stream []byte
	for _, packet := range [][]byte{
		newMessage(0x05).text("a packet that players do not need"), newMessage(0x02).text("success"), newMessage(0x03), newMessage(0x2f), chunk,
		newMessage(0x77).text("last"),
	} {
		stream = AppendFrame(stream, packet, false)
	}
	// The stream arrives byte by byte.
	expectPackets(t, NewReader(iotest.OneByteReader(bytes.NewReader(stream))), "2 8", "10003 0", "2002c 8", "20077 5")
}

func TestCompressedPackets(t *testing.T) {
	compressed := func(packet []byte, length int) []byte {
		var packed bytes.Buffer
		packed.Write(binary.AppendUvarint(nil, uint64(length)))
		writer := zlib.NewWriter(&packed)
		writer.Write(packet)
		writer.Close()
		return AppendFrame(nil, packed.Bytes(), false)
	}
	success := newMessage(0x02).text(strings.Repeat("long ", 1000))
	stream := AppendFrame(nil, newMessage(0x03).varInt(256), false)
	stream = append(stream, compressed(success, len(success))...)
	stream = AppendFrame(stream, newMessage(0x03), true)
	expectPackets(t, NewReader(bytes.NewReader(stream)), "3 2", "2 5002", "10003 0")

	for _, broken := range [][]byte{
		compressed(success, len(success)+1), compressed(success, longestContent+1), AppendFrame(nil, []byte{9, 1, 2, 3}, false),
	} {
		reader := NewReader(bytes.NewReader(broken))
		reader.compression = true
		if frame, err := reader.Next(); err != nil {
			t.Error(err)
		} else if _, _, err := reader.Packet(frame); err == nil {
			t.Errorf("%.20x is read without an error", broken)
		}
	}
}

func expectPackets(t *testing.T, reader *Reader, wanted ...string) {
	t.Helper()
	var got []string
	for {
		frame, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		packet, needed, err := reader.Packet(frame)
		if err != nil {
			t.Fatal(err)
		}
		if needed {
			got = append(got, fmt.Sprintf("%x %d", int(packet.Number), len(packet.Content)))
		}
	}
	if strings.Join(got, ", ") != strings.Join(wanted, ", ") {
		t.Errorf("the packets are %q, wanted %q", got, wanted)
	}
}

func TestFramesThatAreNone(t *testing.T) {
	for stream, want := range map[string]string{
		"HTTP/1.1 400":             "unexpected EOF",
		"\xff\xff\xff\x7f a frame": "a frame of 268435455 bytes",
	} {
		if _, err := NewReader(strings.NewReader(stream)).Next(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v", stream, err)
		}
	}
}

func TestTexts(t *testing.T) {
	name := func(kind byte, name string) string { return string([]byte{kind, 0, byte(len(name))}) + name }
	value := func(text string) string { return string([]byte{0, byte(len(text))}) + text }
	samples := map[string]string{
		"\x08" + value("pong 7"): "pong 7",
		"\x0a" + name(nbtText, "color") + value("red") + name(nbtByte, "bold") + "\x01" + name(nbtText, "text") + value("no ") +
			name(nbtList, "extra") + "\x0a\x00\x00\x00\x02" + name(nbtText, "") + value("place for ") + "\x00" +
			name(nbtText, "text") + value("p099") + name(nbtInts, "x") + "\x00\x00\x00\x01\x00\x00\x00\x09" + "\x00" + "\x00": "no place for p099",
		"\x0a" + name(nbtText, "translate") + value("multiplayer.disconnect") + "\x00": "multiplayer.disconnect",
	}
	for data, want := range samples {
		if fields := (&Fields{data: []byte(data)}); fields.Text() != want || fields.Short || len(fields.data) > 0 {
			t.Errorf("%q is not read as %q; %d bytes are left, short: %v", data, want, len(fields.data), fields.Short)
		}
		if fields := (&Fields{data: []byte(data[:len(data)-1])}); fields.Text() == want && !fields.Short {
			t.Errorf("a text without its last byte is read as whole: %q", data)
		}
	}
	endless := &Fields{data: bytes.Repeat([]byte{nbtList, 0, 0, 0, 1}, 1000)}
	if endless.Text(); !endless.Short {
		t.Error("lists in lists have no limit")
	}
	json := Packet{Content: message(nil).text(`{"text":"Invalid Version, ","color":"red","extra":["please use 1.21.10"]}`)}
	if got := json.Fields().JSONText(); got != "Invalid Version, please use 1.21.10" {
		t.Errorf("the text is %q", got)
	}
}

func TestNamesOfPlayers(t *testing.T) {
	one, two := OfflineUUID("p001"), OfflineUUID("p002")
	content := message(nil).fixed(byte(0xff)).varInt(2).
		fixed(one).text("p001").varInt(1).text("textures").text("skin").fixed(true).text("signature").
		fixed(true, UUID{}, int64(9)).text("key").text("signature").varInt(1).fixed(true).varInt(20).
		fixed(true, byte(nbtText), uint16(3), [3]byte{'o', 'n', 'e'}).varInt(300).fixed(true).
		fixed(two).text("p002").varInt(0).fixed(false).varInt(1).fixed(true).varInt(20).fixed(false).varInt(0).fixed(true)
	fields := Packet{Content: content}.Fields()
	if got := fields.Added(); !maps.Equal(got, map[UUID]string{one: "p001", two: "p002"}) || fields.Short || len(fields.data) > 0 {
		t.Errorf("the players are %v; %d bytes are left", got, len(fields.data))
	}
	latency := Packet{Content: message(nil).fixed(byte(updateLatency)).varInt(1).fixed(one).varInt(20)}.Fields()
	if got := latency.Added(); len(got) > 0 || latency.Short {
		t.Errorf("an update of a latency adds %v", got)
	}
	removed := Packet{Content: message(nil).varInt(2).fixed(two, one)}.Fields().Removed()
	if len(removed) != 2 || removed[0] != two || removed[1] != one {
		t.Errorf("the players that left are %v", removed)
	}
}
