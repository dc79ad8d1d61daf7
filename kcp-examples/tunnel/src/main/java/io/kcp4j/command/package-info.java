/** The common parts of the command lines of kcp4j. */
package io.kcp4j.command;
