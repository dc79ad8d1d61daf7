package io.kcp4j.command;

import java.nio.file.NoSuchFileException;

/** A failure whose message is one line for the user. */
public final class CommandFailure extends Exception {

  /** Makes a failure with a message of one line. */
  public CommandFailure(String message) {
    super(message);
  }

  /** One line about any failure. */
  public static String describe(Throwable failure) {
    if (failure instanceof NoSuchFileException missing) {
      return "no such file: " + missing.getFile();
    }
    String message = failure.getMessage();
    return message == null
        ? failure.getClass().getSimpleName()
        : message.lines().findFirst().orElse("");
  }
}
