package protocol

import "encoding/binary"

// A VarInt of this protocol is written like a varint of encoding/binary, of the 32 bits without their sign.

// Fields takes fields off the content of a packet. Past its end, it returns zeros and sets Short.
type Fields struct {
	data  []byte
	Short bool
}

// Fields returns the fields of a packet.
func (p Packet) Fields() *Fields { return &Fields{data: p.Content} }

func (f *Fields) take(count int) []byte {
	if count < 0 || count > len(f.data) {
		f.Short, f.data = true, nil
		return nil
	}
	taken := f.data[:count]
	f.data = f.data[count:]
	return taken
}

func (f *Fields) varInt() int32 {
	value, size := binary.Uvarint(f.data)
	if f.take(size); size <= 0 {
		f.Short = true
	}
	return int32(uint32(value))
}

func (f *Fields) text() string { return string(f.take(int(f.varInt()))) }

// fixed reads values of fixed size, such as numbers.
func (f *Fields) fixed(targets ...any) {
	for _, target := range targets {
		size, err := binary.Decode(f.data, binary.BigEndian, target)
		if f.take(size); err != nil {
			f.Short, f.data = true, nil
		}
	}
}

func (f *Fields) flag() (value bool) {
	f.fixed(&value)
	return value
}

// message builds a packet from the player.
type message []byte

func newMessage(number uint64) message { return binary.AppendUvarint(nil, number) }

func (m message) varInt(value int32) message { return binary.AppendUvarint(m, uint64(uint32(value))) }

func (m message) text(value string) message { return append(m.varInt(int32(len(value))), value...) }

// fixed appends values of fixed size. binary.Append fails only for others.
func (m message) fixed(values ...any) message {
	for _, value := range values {
		m, _ = binary.Append(m, binary.BigEndian, value)
	}
	return m
}
