// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// checkShape compares a decoded JSON tree with the Go type that it is meant for,
// and returns a line for each field that the type does not have, or whose value
// it cannot hold.
func checkShape(target any, tree any) []string {
	var s shape
	s.check("", tree, reflect.TypeOf(target))
	return s.lines
}

type shape struct{ lines []string }

var (
	quantityType    = reflect.TypeFor[resource.Quantity]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
)

func (s *shape) add(path, format string, args ...any) {
	s.lines = append(s.lines, path+": "+fmt.Sprintf(format, args...))
}

func (s *shape) check(path string, v any, t reflect.Type) {
	if v == nil {
		return
	}
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == quantityType:
		s.quantity(path, v)
	case reflect.PointerTo(t).Implements(unmarshalerType):
		// It has a form of its own.
	case t.Kind() == reflect.Struct:
		s.object(path, v, t)
	case t.Kind() == reflect.Map:
		if m, ok := v.(map[string]any); ok {
			for _, k := range slices.Sorted(maps.Keys(m)) {
				s.check(join(path, k), m[k], t.Elem())
			}
			return
		}
		s.add(path, "%s is given, but it holds fields of its own", describe(v))
	case t.Kind() == reflect.Slice:
		s.list(path, v, t)
	default:
		s.scalar(path, v, t)
	}
}

func (s *shape) object(path string, v any, t reflect.Type) {
	m, ok := v.(map[string]any)
	fields := fieldsOf(t)
	names := slices.Sorted(maps.Keys(fields))
	if !ok {
		s.add(path, "%s is given, but it holds fields: %s", describe(v), strings.Join(names, ", "))
		return
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		f, known := fields[k]
		if !known {
			hint := didYouMean(k, names)
			if hint == "" {
				hint = fmt.Sprintf("; %s has %s", orElse(path, "the object"), strings.Join(names, ", "))
			}
			s.add(join(path, k), "there is no such field%s", hint)
			continue
		}
		s.check(join(path, k), m[k], f)
	}
}

func (s *shape) list(path string, v any, t reflect.Type) {
	items, ok := v.([]any)
	if !ok {
		s.add(path, "%s is given, but it is a list; begin each item with '- '", describe(v))
		return
	}
	for i, it := range items {
		s.check(fmt.Sprintf("%s[%d]", path, i), it, t.Elem())
	}
}

func (s *shape) quantity(path string, v any) {
	text := fmt.Sprint(v)
	switch v.(type) {
	case string, float64:
		if _, err := resource.ParseQuantity(text); err == nil {
			return
		}
	}
	s.add(path, "%s is not a quantity; write one like 4, 500m or 16Gi", describe(v))
}

func (s *shape) scalar(path string, v any, t reflect.Type) {
	ok, want := true, ""
	switch t.Kind() {
	case reflect.String:
		_, ok = v.(string)
		want = "text, in quotes where it looks like a number"
	case reflect.Bool:
		_, ok = v.(bool)
		want = "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64:
		n, isNumber := v.(float64)
		ok = isNumber && n == math.Trunc(n) && math.Abs(n) <= math.MaxInt32
		want = "a whole number without quotes"
	default:
		// The API has no fields of other kinds; decoding refuses what is wrong.
	}
	if !ok {
		s.add(path, "%s is given, but it takes %s", describe(v), want)
	}
}

// fieldsOf are the JSON fields of a struct, those of embedded ones among them.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case f.Anonymous && name == "" || strings.Contains(options, "inline"):
			maps.Copy(fields, fieldsOf(f.Type))
		default:
			fields[orElse(name, f.Name)] = f.Type
		}
	}
	return fields
}

// describe names a JSON value in a sentence.
func describe(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("the text %q", v)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return fmt.Sprint(v)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
