// Package browser tests pages in Chromium. Those of "gale serve": how they look on a screen
// and on a phone, the filter, sorting, uploads, and video. The reports of load tests: how they
// look on a screen, on a phone and on paper, their charts, and the keyboard. The chat of
// examples/ws-chat, over HTTP/1.1 and HTTP/2. Without Chromium the tests are left out.
//
// With GALE_SCREENSHOTS=DIR the tests write pictures of the pages to DIR, to be looked at.
package browser
