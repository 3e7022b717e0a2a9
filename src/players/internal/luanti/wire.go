package luanti

import (
	"encoding/binary"
	"math"
	"unicode/utf16"

	"tickdisk/players/internal/play"
)

// reader takes big-endian fields off a message. Past the message's end, it returns zeros and sets short.
type reader struct {
	data  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.data) {
		r.short = true
		r.data = nil
		return make([]byte, n)
	}
	taken := r.data[:n]
	r.data = r.data[n:]
	return taken
}

func (r *reader) u8() uint8   { return r.take(1)[0] }
func (r *reader) u16() uint16 { return binary.BigEndian.Uint16(r.take(2)) }
func (r *reader) u32() uint32 { return binary.BigEndian.Uint32(r.take(4)) }
func (r *reader) f32() float64 {
	return float64(math.Float32frombits(r.u32()))
}
func (r *reader) text() string { return string(r.take(int(r.u16()))) }

// wideText reads a string of UTF-16 units.
func (r *reader) wideText() string {
	units := make([]uint16, r.u16())
	for i := range units {
		units[i] = r.u16()
		if r.short {
			return ""
		}
	}
	return string(utf16.Decode(units))
}

func (r *reader) nodePosition() (position [3]int16) {
	for i := range position {
		position[i] = int16(r.u16())
	}
	return position
}

func (r *reader) node() (node play.Node) {
	for axis, part := range r.nodePosition() {
		node[axis] = int(part)
	}
	return node
}

// writer builds a message.
type writer struct{ data []byte }

func message(command uint16) *writer { return (&writer{}).u16(command) }

func (w *writer) u8(value uint8) *writer {
	w.data = append(w.data, value)
	return w
}

func (w *writer) u16(value uint16) *writer {
	w.data = binary.BigEndian.AppendUint16(w.data, value)
	return w
}

func (w *writer) u32(value uint32) *writer {
	w.data = binary.BigEndian.AppendUint32(w.data, value)
	return w
}

func (w *writer) bytes(value []byte) *writer {
	w.data = append(w.data, value...)
	return w
}

func (w *writer) text(value string) *writer { return w.u16(uint16(len(value))).bytes([]byte(value)) }

func (w *writer) wideText(value string) *writer {
	units := utf16.Encode([]rune(value))
	w.u16(uint16(len(units)))
	for _, unit := range units {
		w.u16(unit)
	}
	return w
}

func (w *writer) nodePosition(position [3]int16) *writer {
	for _, part := range position {
		w.u16(uint16(part))
	}
	return w
}

func (w *writer) node(node play.Node) *writer {
	return w.nodePosition([3]int16{int16(node[0]), int16(node[1]), int16(node[2])})
}

// fixed appends numbers as 32-bit integers in units of 1/factor.
func (w *writer) fixed(factor float64, values ...float64) *writer {
	for _, value := range values {
		w.u32(uint32(int32(math.Round(value * factor))))
	}
	return w
}
