package protocol

import (
	"encoding/json"
	"strings"
)

// Kinds of NBT values.
const (
	nbtEnd = iota
	nbtByte
	nbtShort
	nbtInt
	nbtLong
	nbtFloat
	nbtDouble
	nbtBytes
	nbtText
	nbtList
	nbtCompound
	nbtInts
	nbtLongs
)

var nbtSizes = map[byte]int{
	nbtByte: 1, nbtShort: 2, nbtInt: 4, nbtLong: 8, nbtFloat: 4, nbtDouble: 8, nbtBytes: 1, nbtInts: 4, nbtLongs: 8,
}

const deepestText = 64

// Text reads a text component, which is an NBT value, and returns its words without their style.
func (f *Fields) Text() string {
	var kind byte
	f.fixed(&kind)
	return words(f.nbt(kind, 0))
}

// nbt reads a value. Texts, lists and compounds are returned as encoding/json would return them. Numbers are skipped.
func (f *Fields) nbt(kind byte, depth int) any {
	if depth > deepestText {
		f.Short, f.data = true, nil
	}
	var length int32
	switch kind {
	case nbtText:
		return f.nbtText()
	case nbtList:
		var of byte
		var list []any
		for f.fixed(&of, &length); length > 0 && !f.Short; length-- {
			list = append(list, f.nbt(of, depth+1))
		}
		return list
	case nbtCompound:
		compound := map[string]any{}
		for !f.Short {
			if f.fixed(&kind); kind == nbtEnd {
				break
			}
			name := f.nbtText()
			compound[name] = f.nbt(kind, depth+1)
		}
		return compound
	case nbtBytes, nbtInts, nbtLongs:
		f.fixed(&length)
		f.take(int(length) * nbtSizes[kind])
	default:
		size, known := nbtSizes[kind]
		if f.take(size); !known {
			f.Short, f.data = true, nil
		}
	}
	return nil
}

func (f *Fields) nbtText() string {
	var length uint16
	f.fixed(&length)
	return string(f.take(int(length)))
}

// JSONText reads a text component of the login, which is JSON.
func (f *Fields) JSONText() string {
	text := f.text()
	var component any
	if json.Unmarshal([]byte(text), &component) != nil {
		return text
	}
	return words(component)
}

// words returns the words of a text component. A text that the client would translate has only a key.
func words(component any) string {
	switch part := component.(type) {
	case string:
		return part
	case []any:
		var all strings.Builder
		for _, each := range part {
			all.WriteString(words(each))
		}
		return all.String()
	case map[string]any:
		if plain, wrapped := part[""]; wrapped { // A list of NBT has values of one kind, and wraps a mere text among compounds.
			return words(plain)
		}
		return words(part["translate"]) + words(part["text"]) + words(part["extra"])
	default:
		return ""
	}
}
