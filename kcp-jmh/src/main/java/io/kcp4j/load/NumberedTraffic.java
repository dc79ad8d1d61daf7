package io.kcp4j.load;

import picocli.CommandLine.Option;

/**
 * What the clients of the modes REQUESTS, WRITES and UPLOAD send, besides the size and the rate of
 * a game's messages. The server needs the same settings.
 */
final class NumberedTraffic {

  /** Length of the answer to an upload that has arrived. */
  static final int ANSWER_BYTES = 8;

  @Option(
      names = "--in-flight",
      paramLabel = "N",
      defaultValue = "1",
      description = "Messages of mode requests without an echo (default: ${DEFAULT-VALUE}).")
  private int inFlight;

  @Option(
      names = "--pause",
      paramLabel = "MS",
      defaultValue = "0",
      description = "Time before each message of mode requests (default: ${DEFAULT-VALUE}).")
  private int pauseMs;

  @Option(
      names = "--upload-bytes",
      paramLabel = "BYTES",
      defaultValue = "0",
      description =
          "Size of an upload, answered when all has arrived; 0: without end"
              + " (default: ${DEFAULT-VALUE}).")
  private long uploadBytes;

  @Option(
      names = "--warm-up-bytes",
      paramLabel = "BYTES",
      defaultValue = "0",
      description =
          "Size of an upload in a session before that of mode upload; 0: there is none"
              + " (default: ${DEFAULT-VALUE}).")
  private long warmUpBytes;

  int inFlight() {
    return inFlight;
  }

  int pauseMs() {
    return pauseMs;
  }

  long uploadBytes() {
    return uploadBytes;
  }

  /** 0: there is no session before the upload. */
  long warmUpBytes() {
    return warmUpBytes;
  }

  /** How many bytes a session of mode UPLOAD has, the first session being 0; 0: without end. */
  long expectedBytes(int session) {
    return session == 0 && warmUpBytes > 0 ? warmUpBytes : uploadBytes;
  }
}
