/** What the command lines of kcp4j have in common. */
package io.kcp4j.command;
