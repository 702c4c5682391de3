package main

import "log/slog"

// openBrowser opens url in the browser, and logs a warning if that fails. It doesn't wait.
func openBrowser(url string, logger *slog.Logger) {
	cmd := browserCommand(url) // without standard input and output
	if err := cmd.Start(); err != nil {
		logger.Warn("can't open the browser", "error", err.Error(), "url", url)
		return
	}
	go func() {
		if err := cmd.Wait(); err != nil {
			logger.Warn("can't open the browser", "error", err.Error(), "url", url)
		}
	}()
}
