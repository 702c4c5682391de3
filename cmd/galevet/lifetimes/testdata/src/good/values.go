package good

import "io"

// Functions that stand for methods without a declaration of their own.

type set[T comparable] struct{ m map[T]bool }

func (s *set[T]) add(v T) { s.m[v] = true }

func all(f func(*set[int], int)) { f(&set[int]{map[int]bool{}}, 1) }

func OfGenericType() { all((*set[int]).add) }

func OfGenericValue() {
	s := set[string]{}
	add := s.add
	add("x")
}

type embeds struct{ error }

type named interface{ Name() string }

type embedsGeneric[T named] struct{ v T }

func (e embedsGeneric[T]) name() func() string { return e.v.Name }

func nameOf[T named]() func(T) string { return T.Name }

var (
	OfInterface = io.Reader.Read
	Promoted    = embeds.Error
	OfAnonymous = interface{ Len() int }.Len
	BoundTo     = func(r io.Reader) any { return r.Read }
	PromotedTo  = func(e embeds) any { return e.Error }
	OfType      = nameOf[named]
	Value       = embedsGeneric[named].name
)
