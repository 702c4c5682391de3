package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pooled says for everything that is used again which test proves that it forgets what it
// held: for the pools, the functions by which users pool, and the methods that make an
// object ready for its next use. The test is "Name" in the package itself, or
// "folder.Name". Text in brackets says why none is needed.
var pooled = map[string]string{
	"gale.argsPool":       "TestPooledForgets",
	"gale.bufioPool":      "TestBufferedForget",
	"gale.chunkReaders":   "TestPooledForgets",
	"gale.chunkedBodies":  "TestPooledForgets",
	"gale.connWaiters":    "TestConnWaiterForgets",
	"gale.cookiePool":     "TestPooledForgets",
	"gale.ctxPool":        "TestPooledForgets",
	"gale.pipeCalls":      "TestPooledForgets",
	"gale.h2Calls":        "TestPooledForgets",
	"gale.h1Senders":      "TestPooledForgets",
	"gale.h1Sender.reset": "TestPooledForgets",
	"gale.h1Sender.drop":  "TestPooledForgets",
	"gale.h2Call.reset":   "TestPooledForgets",
	"gale.h2Call.release": "TestPooledForgets",
	"gale.requestPool":    "TestPooledForgets",
	"gale.responsePool":   "TestPooledForgets",
	"gale.sessions":       "TestPooledForgets",

	"gale.upgradeSession.free": "(does nothing)",
	"gale.streamBuffers":       "TestBufferedForget",
	"gale.timerPool":           "tests/message.TestTimerForgets",
	"gale.uriPool":             "TestPooledForgets",

	"gale.HostClient.readers":       "TestBufferedForget",
	"gale.HostClient.writers":       "TestBufferedForget",
	"gale.HostClient.AcquireConn":   "TestClientConnForgets",
	"gale.HostClient.ReleaseConn":   "TestClientConnForgets",
	"gale.HostClient.AcquireReader": "TestBufferedForget",
	"gale.HostClient.ReleaseReader": "TestBufferedForget",
	"gale.HostClient.AcquireWriter": "TestBufferedForget",
	"gale.HostClient.ReleaseWriter": "TestBufferedForget",
	"gale.HostClient.acquire":       "TestClientConnForgets",
	"gale.HostClient.release":       "TestClientConnForgets",
	"gale.HostClient.acquireWriter": "TestBufferedForget",

	"gale.AcquireArgs":     "TestPooledForgets",
	"gale.AcquireCookie":   "TestPooledForgets",
	"gale.AcquireRequest":  "TestPooledForgets",
	"gale.AcquireResponse": "TestPooledForgets",
	"gale.AcquireTimer":    "tests/message.TestTimerForgets",
	"gale.AcquireURI":      "TestPooledForgets",
	"gale.ReleaseArgs":     "TestPooledForgets",
	"gale.ReleaseCookie":   "TestPooledForgets",
	"gale.ReleaseRequest":  "TestPooledForgets",
	"gale.ReleaseResponse": "TestPooledForgets",
	"gale.ReleaseTimer":    "tests/message.TestTimerForgets",
	"gale.ReleaseURI":      "TestPooledForgets",

	"gale.Args.Reset":              "TestPooledForgets",
	"gale.Cookie.Reset":            "TestPooledForgets",
	"gale.Request.Reset":           "TestPooledForgets",
	"gale.Request.reset":           "TestPooledForgets",
	"gale.Response.reset":          "TestPooledForgets",
	"gale.RequestCtx.reset":        "TestPooledForgets",
	"gale.h1Message.reset":         "TestPooledForgets",
	"gale.h1Messages":              "TestPooledForgets",
	"gale.RequestHeader.Reset":     "TestPooledForgets",
	"gale.RequestHeader.reset":     "TestPooledForgets",
	"gale.Response.Reset":          "TestPooledForgets",
	"gale.ResponseHeader.Reset":    "TestPooledForgets",
	"gale.ResponseHeader.reset":    "TestPooledForgets",
	"gale.URI.Reset":               "TestPooledForgets",
	"gale.chunkReader.release":     "TestPooledForgets",
	"gale.chunkedBody.release":     "TestPooledForgets",
	"internal/head.section.reset":  "TestPooledForgets",
	"internal/head.NameList.reset": "TestPooledForgets",
	"internal/msg.spare":           "TestPooledForgets",
	"internal/msg.suspended.drop":  "TestPooledForgets",
	"internal/h1.trailerParts":     "TestTrailersForget",
	"internal/h1.trailerScan.drop": "TestTrailersForget",
	"internal/door.Route.Reset":    "TestPooledForgets",
	"internal/head.Trailers.Reset": "TestPooledForgets",
	"internal/head.Request.Reset":  "TestPooledForgets",
	"internal/head.Response.Reset": "TestPooledForgets",
	"gale.pipeCall.drop":           "TestPooledForgets",
	"gale.snapshot.forget":         "TestPooledForgets",
	"gale.requestStream.forget":    "TestStreamForgets",
	"gale.requestStream.reset":     "TestPooledForgets",
	"gale.h1Session.free":          "TestPooledForgets",
	"gale.h1Session.drop":          "TestNothingForeign",
	"gale.h2Streams":               "(each is set to zero before it is put there)",
	"gale.h2Session.free":          "(does nothing)",
	"gale.h2Session.forget":        "(of a session that is not used again)",
	"gale.userValues.reset":        "TestPooledForgets",

	"gale.Client.acquireHost":     "(counts users)",
	"gale.TCPDialer.acquire":      "(counts dials)",
	"gale.TCPDialer.release":      "(counts dials)",
	"gale.encodingReader.release": "(is not used again; it gives its buffers back)",
	"gale.hostMap.forget":         "(drops entries)",

	"adaptor.ctxs": "TestContextForgets",

	"ws.outputs":           "TestConnOutputForgets",
	"ws.connOutput.forget": "(drops what a write has used)",
	"ws.connState.drop":    "(drops what waits to be sent)",
	"ws.ctxWatch.drop":     "(drops a context)",
	"ws.maskPool":          "(random bytes, each of which is used once)",

	"reverse.exchanges":       "TestPooledForgets",
	"reverse.exchange.forget": "TestPooledForgets",

	"stackless.calls":        "TestPooledForgets",
	"stackless.call.free":    "TestPooledForgets",
	"stackless.output.free":  "(sets its only field to nil)",
	"stackless.writer.Reset": "TestWriterEqualsPlain",

	"internal/wsframe.deflates":         "TestPooledForgets",
	"internal/wsframe.inflaters":        "TestPooledForgets",
	"internal/wsframe.writers":          "TestPooledForgets",
	"internal/wsframe.windowWriters":    "TestPooledForgets",
	"internal/wsframe.deflate.release":  "TestPooledForgets",
	"internal/wsframe.inflater.release": "TestPooledForgets",
	"internal/wsframe.Deflater.Free":    "TestWindow",
	"internal/wsframe.Inflater.Free":    "TestWindow",
	"internal/wsframe.window.free":      "TestWindow",

	"internal/compress.readers":           "TestPooledForgets",
	"internal/compress.writers":           "TestPooledForgets",
	"internal/compress.Reader.in":         "TestPooledForgets",
	"internal/compress.Reader.release":    "TestPooledForgets",
	"internal/compress.Writer.in":         "TestPooledForgets",
	"internal/compress.Writer.release":    "TestPooledForgets",
	"internal/compress.zlibDecoder.Reset": "TestPooledForgets",
	"internal/compress.gzipDecoder.Reset": "TestPooledForgets",

	"internal/lifetime.space.give": "TestAlloc",

	"internal/engine.blockConns":        "TestPooledForgets",
	"internal/engine.workPool":          "TestPooledForgets",
	"internal/engine.Work.reset":        "TestPooledForgets",
	"internal/engine.blockConn.forget":  "TestPooledForgets",
	"internal/engine.eventConn.release": "(lets go of a connection, which is not used again)",
	"internal/engine.loop.forget":       "(frees a slot, whose generation changes)",
	"internal/engine.peers":             "(the kernel overwrites it)",
	"internal/engine.starters":          "(overwritten with an empty worker)",
	"internal/engine.vectors":           "(numbers, all set before each use)",
	"internal/engine.worker.give":       "TestWorkerForgets",

	"internal/h1.Body.Reset":          "gale.TestPooledForgets",
	"internal/h2.ringsPool":           "TestRestForgets",
	"internal/h2.smallPool":           "TestRestForgets",
	"internal/h2.streams":             "TestStreamForgets",
	"internal/h2.trailerParts":        "TestTrailersForget",
	"internal/h2.Repeated.Reset":      "TestRepeatedForgets",
	"internal/h2.coding.drop":         "TestConnForgets",
	"internal/h2.fieldBlock.drop":     "TestConnForgets",
	"internal/h2.reader.drop":         "TestConnForgets",
	"internal/h2.table.drop":          "TestConnForgets",
	"internal/hpack.Decoder.Reset":    "TestResetForgets",
	"internal/hpack.Encoder.Reset":    "TestResetForgets",
	"internal/kv.List.Reset":          "gale.TestPooledForgets",
	"internal/msg.Fields.Reset":       "gale.TestPooledForgets",
	"internal/msg.RequestHead.Reset":  "gale.TestPooledForgets",
	"internal/msg.ResponseHead.Reset": "gale.TestPooledForgets",
	"internal/pool.classes":           "TestGetRoom",
	"internal/pool.Buf.Reset":         "TestBufMatchesBytesBuffer",
	"internal/pool.Queue.Drop":        "TestQueueForgets",
	"internal/static.Entry.Release":   "(counts readers)",
	"internal/static.rootDir.acquire": "(counts users)",
	"internal/static.rootDir.drop":    "(closes a folder)",
	"internal/static.File.Acquire":    "(counts readers)",
	"internal/static.File.Release":    "(counts readers)",
	"internal/dial.Names.forget":      "(drops an entry)",
	"galeutil.pipe.drop":              "(empties what is closed)",
	"internal/engine.Event.Drop":      "(closes a connection, which is not used again)",
	"prefork.master.forget":           "(drops a child that has ended)",
	"ws.incoming.release":             "TestIncomingForgets",
	"ws.incomings":                    "TestIncomingForgets",
	"ws.queue.drop":                   "TestQueueForgets",
	"ws.queue.release":                "TestQueueForgets",
	"ws.queues":                       "TestQueueForgets",
}

// reuses are the names of methods that make an object ready for its next use.
var reuses = []string{"reset", "free", "forget", "release", "acquire", "drop", "give"}

// TestPooledAreListed proves that everything that is pooled or reset is in the list
// above, and that its test exists. A new pool, or a new way to give an object back, needs
// a test that the object forgets what it held; internal/pool/pooltest makes that short.
func TestPooledAreListed(t *testing.T) {
	found := make(map[string]string) // the name, and its file
	tests := make(map[string]bool)
	root := filepath.Join("..", "..")
	for _, s := range sources(t) {
		dir := s.dir
		if dir == "" {
			dir = "gale"
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, s.file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(s.file, "_test.go") {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
					tests[dir+"."+fn.Name.Name] = true
				}
			}
			continue
		}
		if s.test || strings.HasPrefix(dir, "examples") || strings.HasPrefix(dir, "tests") || dir == "internal/pool/pooltest" || isMeasure(module+"/"+dir) || strings.HasPrefix(path.Base(s.file), "objects") && dir == "internal/pool" {
			continue
		}
		for name := range reused(t, s.file, f) {
			found[dir+"."+name] = s.file
		}
	}
	if len(found) < 50 {
		t.Fatalf("found only %d", len(found))
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if _, ok := pooled[name]; !ok {
			t.Errorf("%s: %s is used again, or makes something ready for that: add it to the list with its test", found[name], name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pooled)) {
		test := pooled[name]
		if _, ok := found[name]; !ok {
			t.Errorf("%s is listed and not there any more", name)
		}
		if strings.HasPrefix(test, "(") {
			continue
		}
		if !strings.Contains(test, ".") {
			dir := name[:strings.Index(name, ".")]
			test = dir + "." + test
		}
		if !tests[test] {
			t.Errorf("%s: there is no test %s", name, test)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "pooled_test.go")); err != nil {
		t.Error(err)
	}
}

// reused returns the pools, functions and methods of a file by which objects are used
// again.
func reused(t *testing.T, file string, f *ast.File) map[string]bool {
	names := make(map[string]bool)
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if name, ok := reusing(d); ok {
				names[name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					if isPool(spec.Type) || slices.ContainsFunc(spec.Values, isPool) {
						for _, n := range spec.Names {
							names[n.Name] = true
						}
					}
				case *ast.TypeSpec:
					st, ok := spec.Type.(*ast.StructType)
					if !ok {
						continue
					}
					for _, field := range st.Fields.List {
						for _, n := range field.Names {
							if isPool(field.Type) {
								names[spec.Name.Name+"."+n.Name] = true
							}
						}
					}
				}
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok && isName(sel, "sync", "Pool") {
			t.Errorf("%s uses sync.Pool: a pool.Pool is the same, and tests can shuffle it", file)
		}
		return true
	})
	return names
}

// reusing reports whether objects are used again by a function or method, and returns its
// name with that of the receiver.
func reusing(d *ast.FuncDecl) (name string, ok bool) {
	name = d.Name.Name
	if d.Recv == nil {
		return name, strings.HasPrefix(name, "Acquire") || strings.HasPrefix(name, "Release")
	}
	recv := d.Recv.List[0].Type
	if star, ok := recv.(*ast.StarExpr); ok {
		recv = star.X
	}
	id, isType := recv.(*ast.Ident)
	if !isType {
		return "", false
	}
	ok = slices.Contains(reuses, strings.ToLower(name)) || strings.HasPrefix(strings.ToLower(name), "acquire") ||
		strings.HasPrefix(name, "Release") && name != "ReleaseBody"
	return id.Name + "." + name, ok
}

// isPool reports whether an expression is the type pool.Pool, an array of them, a
// pointer to one, or a literal of it.
func isPool(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CompositeLit:
		return isPool(e.Type)
	case *ast.ArrayType:
		return isPool(e.Elt)
	case *ast.StarExpr:
		return isPool(e.X)
	case *ast.Ident:
		return e.Name == "Pool"
	case *ast.SelectorExpr:
		return isName(e, "pool", "Pool") || isName(e, "sync", "Pool")
	}
	return false
}

func isName(sel *ast.SelectorExpr, pkg, name string) bool {
	id, ok := sel.X.(*ast.Ident)
	return ok && id.Name == pkg && sel.Sel.Name == name
}
